"""What one replica of a model sustains on each shape of a card: the question behind every size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from capacity.belief import Source, prior_belief, scaled
from capacity.bounds import expected_and_low
from capacity.catalogue import ModelSpec
from capacity.contention import CONTENTION, NONE, expected_law
from capacity.fit import Fit
from capacity.hardware import speed_of
from capacity.law import Floats, Integers, stacked
from capacity.prior import kv_tokens, obstacle
from capacity.sustained import Binding, Sustained, mean_targets, sustained
from fleet.boards import Board
from fleet.demand import Mix
from fleet.shape import Shape, shapes_of, share_of
from fleet.workload import Slo

_GROUPS = (2, 4, 8)
_SHARES = (25, 50, 75)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one replica sustains, or why there is none.

    Attributes:
        shape: What it runs on.
        obstacle: Why its engine does not start or takes no such request; `None` if it does.
        requests_per_s: Expected largest rate inside the SLO; 0 if there is none.
        requests_per_s_low: What the true rate exceeds with 90 % confidence.
        batch: Requests in service at the expected rate, on average.
        binding: What stops it from carrying more; `None` behind an obstacle.
        kv_tokens: Room for context.
        source: What the estimate rests on.
    """

    shape: Shape
    obstacle: str | None
    requests_per_s: float
    requests_per_s_low: float
    batch: float
    binding: Binding | None
    kv_tokens: float
    source: Source = Source.PRIOR


def askable(board: Board, mechanism: str) -> tuple[Shape, ...]:
    """Return the shapes worth asking about: of one card, of the cards that NVLink joins, or shares of one.

    `InputError` if nothing is known about the board.
    """
    if CONTENTION[mechanism] is not NONE:
        return (Shape(board.id), *(share_of(board, hundredths) for hundredths in _SHARES))
    groups = (Shape(board.id, cards=n) for n in _GROUPS if n <= speed_of(board).nvlink_cards)
    return (*shapes_of(board), *groups)


def capacity_of(
    model: ModelSpec,
    board: Board,
    shapes: Sequence[Shape],
    mix: Mix,
    slo: Slo,
    mechanism: str = "dra",
    fitted: Fit | None = None,
) -> tuple[Answer, ...]:
    """Return what one replica of `model` sustains on each shape at `mix`, by its prior or by what was fitted.

    No target gives way.
    All shapes are solved together. `InputError` if nothing is known about the board, it has no such profile
    or the mechanism makes no such shape.
    """
    obstacles = {shape: _obstacle(model, board, shape, mix) for shape in shapes}
    able = [shape for shape in shapes if obstacles[shape] is None]
    rooms = {shape: kv_tokens(model, board, shape) for shape in able}
    laws = {shape: expected_law(model, board, shape, mechanism) for shape in able}
    beliefs = {
        shape: prior_belief(law, shape) if fitted is None else fitted.belief(law, shape)
        for shape, law in laws.items()
    }

    def solve(these: Integers, slower: Floats) -> list[Sustained]:
        held = scaled(stacked([belief.law for belief in beliefs.values()]).at(these), slower)
        prompts, outputs = np.full(len(these), mix.prompt_tokens), np.full(len(these), mix.output_tokens)
        room = np.array([*rooms.values()])[these]
        return sustained(held, room, prompts, outputs, mean_targets([slo] * len(these)))

    covariances = np.array([belief.covariance for belief in beliefs.values()])
    solved = expected_and_low(solve, covariances) if able else ([], [])
    rates = dict(zip(able, zip(*solved, strict=True), strict=True))
    return tuple(
        _answer(shape, rooms[shape], *rates[shape], beliefs[shape].source)
        if shape in rates
        else Answer(shape, obstacles[shape], 0.0, 0.0, 0.0, None, 0.0)
        for shape in shapes
    )


def _answer(shape: Shape, room: float, expected: Sustained, low: Sustained, source: Source) -> Answer:
    return Answer(
        shape,
        None,
        expected.requests_per_s,
        low.requests_per_s,
        expected.batch,
        expected.binding,
        room,
        source,
    )


def _obstacle(model: ModelSpec, board: Board, shape: Shape, mix: Mix) -> str | None:
    tokens = mix.prompt_tokens + mix.output_tokens
    if tokens > model.max_model_len:
        return f"requests of {tokens:.0f} tokens are longer than the engine takes ({model.max_model_len})"
    return obstacle(model, board, shape)
