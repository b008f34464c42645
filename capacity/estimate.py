"""The work that one replica of a shape carries, and the work that recorded demand amounts to.

Both are measured against the same yardstick, the reference shape of the workload: the whole card of the
largest board that its model fits on. Rates are looked up at token mixes rounded *up* to two significant
digits: few are solved, all others are found, and what is found is never more than what is sustained.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from capacity.catalogue import model_spec
from capacity.hardware import speed_of
from capacity.law import Floats
from capacity.prior import fits, kv_tokens, prior, slow_prior
from capacity.rounding import RoundMix, distinct_rounded_up, rounded_up
from capacity.sustained import Binding, Sustained, mean_targets, sustained
from fleet.boards import Board
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape
from fleet.workload import Slo, Workload

_LEAST_COMPANY = 1.25
"""Smallest ratio of a target to the latency of a request alone on the reference shape (judgement).

More replicas only take away company; a target that a lone request misses cannot be bought with them. At
such a mix, that of a few minutes of long prompts, say, the target gives way, and no shape is asked to meet
what the reference cannot. Without that, work would grow beyond all bounds.
"""


class Source(StrEnum):
    """Where a capacity comes from."""

    PRIOR = "prior"


@dataclass(frozen=True, slots=True)
class Capacity:
    """The work that one replica of a shape carries inside the SLO.

    Attributes:
        work: In full reference replicas.
        work_low: What the true work exceeds with 90 % confidence; 0 if it may well miss the SLO.
        binding: What stops it from carrying more.
        source: What the estimate rests on.
    """

    work: float
    work_low: float
    binding: Binding
    source: Source


@dataclass(frozen=True, slots=True)
class _Question:
    """What a sustained rate depends on besides the mix."""

    model: str
    slo: Slo
    shape: Shape
    is_low: bool


class CapacityModel:
    """Capacities and work for the boards of a fleet.

    It remembers every rate that it solved; threads may share it, at worst they solve one twice. Complexity:
    one solve (0.15 ms among many, 3 ms alone) per model, SLO, shape and rounded mix, a few hundred mixes for
    a week of one workload; apart from that `work` sorts the minutes.
    """

    def __init__(self, boards: Iterable[Board]) -> None:
        """Take the kinds of board in the fleet; largest = most tensor throughput, then most memory.

        `InputError` if nothing is known about the speed of one.
        """
        largest_first = sorted(boards, key=lambda board: (-speed_of(board).bf16_tflops, -board.memory_gib))
        self._boards = {board.id: board for board in largest_first}
        self._references: dict[str, Shape] = {}
        self._solved: dict[_Question, dict[RoundMix, Sustained]] = {}

    def reference(self, workload: Workload) -> Shape:
        """Return the whole card of the largest board that holds the model; `InputError` if none does."""
        if workload.model not in self._references:
            self._references[workload.model] = self._largest(workload)
        return self._references[workload.model]

    def _largest(self, workload: Workload) -> Shape:
        model = model_spec(workload.model)
        for board in self._boards.values():
            if fits(model, board, Shape(board.id)):
                return Shape(board.id)
        raise InputError(
            f"model {model.name} fits on none of the boards {', '.join(self._boards) or '(there are none)'}",
            where=f"workload {workload.key}",
            fix="add a board with more memory or name a smaller model",
        )

    def sustained(self, workload: Workload, shape: Shape, mix: Mix) -> float:
        """Return the requests/s that one replica of `shape` sustains at `mix`; 0 if it cannot serve it."""
        return self._rates(workload, shape, [rounded_up(mix)])[0].requests_per_s

    def capacity(self, workload: Workload, shape: Shape, mixes: Sequence[Mix]) -> Capacity | None:
        """Return the capacity of `shape`, the lowest over the mixes; `None` if it cannot serve one of them.

        At least one mix must be given.
        """
        rounded = [rounded_up(mix) for mix in mixes]
        full = self._rates(workload, self.reference(workload), rounded)
        rates = self._rates(workload, shape, rounded)
        lows = self._rates(workload, shape, rounded, is_low=True)
        shares = [rate.requests_per_s / one.requests_per_s for rate, one in zip(rates, full, strict=True)]
        low_shares = [low.requests_per_s / one.requests_per_s for low, one in zip(lows, full, strict=True)]
        tightest = shares.index(min(shares))
        if shares[tightest] == 0:
            return None
        return Capacity(shares[tightest], min(low_shares), rates[tightest].binding, Source.PRIOR)

    def work(
        self, workload: Workload, requests_per_s: Floats, prompt_tokens: Floats, output_tokens: Floats
    ) -> Floats:
        """Return the work of recorded demand, bucket by bucket, in full reference replicas.

        All arrays have one shape. Without requests there is no work; where the requests or, with requests,
        the tokens are unknown (NaN), the work is.
        """
        work = np.where(requests_per_s == 0, 0.0, np.nan)
        has_work = (requests_per_s > 0) & np.isfinite(prompt_tokens) & np.isfinite(output_tokens)
        mixes, where = distinct_rounded_up(prompt_tokens[has_work], output_tokens[has_work])
        rates = self._rates(workload, self.reference(workload), mixes)
        per_s = np.array([rate.requests_per_s for rate in rates])
        work[has_work] = requests_per_s[has_work] / per_s[where]
        return work

    def _rates(
        self, workload: Workload, shape: Shape, mixes: Sequence[RoundMix], *, is_low: bool = False
    ) -> list[Sustained]:
        """Return what `shape` sustains at each mix, or at least sustains; solve what is not yet known."""
        solved = self._solved.setdefault(_Question(workload.model, workload.slo, shape, is_low), {})
        missing = [mix for mix in dict.fromkeys(mixes) if mix not in solved]
        if missing:
            solved.update(zip(missing, self._solve(workload, shape, missing, is_low=is_low), strict=True))
        return [solved[mix] for mix in mixes]

    def _solve(
        self, workload: Workload, shape: Shape, mixes: Sequence[RoundMix], *, is_low: bool
    ) -> list[Sustained]:
        model, board, reference = model_spec(workload.model), self._board(shape), self.reference(workload)
        room = kv_tokens(model, board, shape) if fits(model, board, shape) else 0.0
        law_of = slow_prior if is_low else prior
        law, yardstick = law_of(model, board, shape), law_of(model, self._board(reference), reference)
        # The engine accepts no longer sequence: a mean beyond it comes from rounding up or a wrong record.
        prompts, outputs = np.array(mixes, dtype=np.float64).T
        prompts = np.minimum(prompts, model.max_model_len - 1)
        outputs = np.minimum(outputs, model.max_model_len - prompts)
        wanted = mean_targets(workload.slo, len(mixes))
        targets = wanted.at_least(yardstick, prompts, outputs, _LEAST_COMPANY)
        return sustained(law, room, prompts, outputs, targets)

    def _board(self, shape: Shape) -> Board:
        if shape.board not in self._boards:
            raise InputError(
                f"board {shape.board} is not in the fleet",
                where=f"shape {shape}",
                fix=f"use one of {', '.join(self._boards)}",
            )
        return self._boards[shape.board]
