"""A trace on a fleet: work by minute and workload, and what a replica carries and takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from allocator.offers import Offer, offers_for
from capacity.estimate import CapacityModel
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.workload import Workload
from foreslice.outlook import DEFAULT_MIX
from foreslice.proof.fleet import Sizes, Terms
from foreslice.proof.trace import Trace
from predictor.ports import BUCKET_S, Floats
from predictor.sources.demand_table import TidySeries
from predictor.steps import DAY_S

SIZED_AT = 0.999
"""Quantile of a workload's work that its size is set by."""

SEVENTH = 1 / 7
"""Piece of a card, and the work that it carries, where nothing is said of models."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one replica carries and takes.

    Attributes:
        shape: What it runs on.
        work: Work that it carries, lower bound.
        expected: Work that it is expected to carry.
        cards: Cards that it takes.
    """

    shape: str
    work: float
    expected: float
    cards: float


@dataclass(frozen=True, slots=True)
class Part:
    """One workload of a scene.

    Attributes:
        name: Its name in the trace.
        step_s: Step of the data, seconds.
        work: Work by minute, NaN = unknown.
        piece: The slice that it runs on.
        whole: The same of whole cards.
        bed: The same of slices of the standby pool, `None` = it may not join one, or does not fit.
    """

    name: str
    step_s: int
    work: Floats
    piece: Piece
    whole: Piece
    bed: Piece | None = None

    @property
    def filled(self) -> Floats:
        """Work by minute, where unknown the last that was known."""
        known = np.flatnonzero(np.isfinite(self.work))
        places = np.searchsorted(known, np.arange(len(self.work)), side="right") - 1
        filled: Floats = self.work[known[np.maximum(places, 0)]]
        return filled


@dataclass(frozen=True, slots=True)
class Scene:
    """What is replayed.

    Attributes:
        parts: Its workloads, on the same minutes.
        test: First minute that is scored.
        reading: How demand moves inside a step: jump, glide, or measured where steps are minutes.
        start_s: First minute, seconds since whatever the trace counts from.
    """

    parts: tuple[Part, ...]
    test: int
    reading: str
    start_s: int = 0

    @property
    def test_s(self) -> int:
        """First scored minute, seconds since whatever the trace counts from."""
        return self.start_s + self.test * BUCKET_S

    @property
    def step_s(self) -> int:
        """Step of the data, the longest."""
        return max(part.step_s for part in self.parts)

    @property
    def days(self) -> float:
        """Days that are scored."""
        return (len(self.parts[0].work) - self.test) * BUCKET_S / DAY_S


def drawn(scene: Scene, count: int, seed: int) -> Scene:
    """Return a scene with so many of the workloads, none twice while there are enough.

    Beyond that they are drawn again and again, each shifted by whole days round the trace, so that two of one
    origin do not burst together.
    """
    chance = np.random.default_rng(seed)
    if count <= len(scene.parts):
        chosen = sorted(chance.choice(len(scene.parts), count, replace=False).tolist())
        return replace(scene, parts=tuple(scene.parts[one] for one in chosen))
    days = len(scene.parts[0].work) * BUCKET_S // DAY_S
    parts = []
    for number in range(count):
        part = scene.parts[number % len(scene.parts)]
        shift = 0 if number < len(scene.parts) else int(chance.integers(1, days)) * DAY_S // BUCKET_S
        parts.append(replace(part, name=f"{part.name}-{number}", work=np.roll(part.work, shift)))
    return replace(scene, parts=tuple(parts))


def scene_of(trace: Trace, terms: Terms, seed: int) -> Scene:
    """Return a trace on a fleet; `InputError` where it is too short or a model fits nowhere.

    Args:
        trace: What was recorded.
        terms: What it is set on.
        seed: Draws sizes, in order of the workloads.
    """
    start_s = min(one.series.start_s for one in trace.rates.values())
    minutes = max(one.series.end_s for one in trace.rates.values()) - start_s
    draws = np.random.default_rng(seed).uniform(0.0, 1.0, len(trace.rates))
    capacity = CapacityModel(terms.boards, terms.models)
    test = minutes // BUCKET_S - round(terms.scored_s / BUCKET_S)
    if test * BUCKET_S < LEAST_BEFORE_S:
        raise InputError(
            f"holds {minutes / DAY_S:.1f} days; {LEAST_BEFORE_S // DAY_S} must come before what is scored",
            where="the trace",
            fix="give a longer trace or a shorter `scored`",
        )
    parts = tuple(
        _part(trace, name, terms, (capacity, draw, start_s, minutes // BUCKET_S, test))
        for name, draw in zip(trace.rates, draws.tolist(), strict=True)
    )
    for days, asked in (("before what is scored", slice(test)), ("that are scored", slice(test, None))):
        if not sum(float(np.nansum(part.work[asked])) for part in parts):
            raise InputError(
                f"no work was asked for on the days {days}",
                where="the trace",
                fix="give one with demand before and in what is scored",
            )
    is_measured = all(part.step_s <= BUCKET_S for part in parts)
    return Scene(parts, test, "measured" if is_measured else terms.reading, start_s)


LEAST_BEFORE_S = 4 * DAY_S
"""History before the scored part: three days for a first model and one to choose settings on."""


Pieces = tuple[Piece, Piece, Piece | None]


def _part(trace: Trace, name: str, terms: Terms, where: tuple[CapacityModel, float, int, int, int]) -> Part:
    capacity, draw, start_s, minutes, test = where
    workload, rates = terms.workload(name), trace.rates[name]
    values = rates.series.values
    work = values
    pieces: Pieces = (Piece("1/7", SEVENTH, SEVENTH, SEVENTH), Piece("whole", 1.0, 1.0, 1.0), None)
    if workload is not None:
        prompt, output = tokens_of(trace, name, len(values))
        work = capacity.work(workload, values, prompt, output)
    if not np.nansum(work):
        raise InputError(
            f"workload {name} never has any work",
            where="the trace",
            fix="take its rows out",
        )
    work = work * scaled(work, terms.sizes, draw)
    if workload is not None:
        steps = max(1, (test * BUCKET_S + start_s - rates.series.start_s) // rates.series.step_s)
        trained = work[:steps]
        peak = int(np.nanargmax(trained))
        mixes = [
            Mix(float(np.nanmean(prompt[:steps])), float(np.nanmean(output[:steps]))),
            Mix(float(prompt[peak]), float(output[peak])),
        ]
        pieces = _pieces(workload, terms, capacity, mixes, trained)
    first = (rates.series.start_s - start_s) // BUCKET_S
    by_minute = np.full(minutes, np.nan)
    read = glide if terms.reading == "glide" and rates.series.step_s > BUCKET_S else jump
    told = read(work, rates.series.step_s)[: minutes - first]
    by_minute[first : first + len(told)] = told
    return Part(name, rates.series.step_s, by_minute, *pieces)


def scaled(work: Floats, sizes: Sizes | None, draw: float) -> float:
    """Return what brings the work to the size that is drawn for it."""
    if sizes is None:
        return 1.0
    size = sizes.least * (sizes.largest / sizes.least) ** draw
    return float(size / (np.nanquantile(work, SIZED_AT) or np.nanmax(work)))


def tokens_of(trace: Trace, name: str, steps: int) -> tuple[Floats, Floats]:
    """Return prompt and output tokens by step; where nothing is known of them, the usual."""
    usual = (DEFAULT_MIX.prompt_tokens, DEFAULT_MIX.output_tokens)
    if name not in trace.tokens:
        return np.full(steps, usual[0]), np.full(steps, usual[1])
    prompt, output = (_carried(one, steps, mean) for one, mean in zip(trace.tokens[name], usual, strict=True))
    return prompt, output


def _carried(series: TidySeries, steps: int, usual: float) -> Floats:
    """Return values with the last known one where there is none or nothing was asked."""
    values = np.full(steps, np.nan)
    values[: len(series.series)] = series.series.values[:steps]
    known = np.flatnonzero(values > 0)
    if not len(known):
        return np.full(steps, usual)
    places = np.searchsorted(known, np.arange(steps), side="right") - 1
    carried: Floats = values[known[np.maximum(places, 0)]]
    return carried


def _pieces(
    workload: Workload, terms: Terms, capacity: CapacityModel, mixes: Sequence[Mix], trained: Floats
) -> Pieces:
    """Return the shape and the whole card that took fewest cards on the training days, and a bed."""
    boards = terms.kept_to(workload.key.name) or terms.boards
    offers = offers_for(workload, boards, capacity, mixes).by_shape
    if not any(shape.is_whole for shape in offers):
        names = ", ".join(board.id for board in boards)
        raise InputError(
            f"no shape of {names} keeps the objectives of {workload.model}",
            where=f"workload {workload.key.name}",
            fix="name another model, looser objectives or other boards",
        )
    known = trained[np.isfinite(trained)]

    def cards(offer: Offer) -> float:
        return float(np.maximum(np.ceil(known / offer.work), 1.0).mean()) * offer.gpu_share

    ranked = sorted(offers.values(), key=lambda offer: (cards(offer), str(offer.shape)))
    best, whole = ranked[0], next(offer for offer in ranked if offer.shape.is_whole)
    shared = terms.pool(workload)
    pool = offers.get(shared) if shared is not None else None
    several = [best, whole, *([pool] if pool is not None else [])]
    estimates = capacity.capacities(workload, [one.shape for one in several], mixes)
    chosen, full, *bed = (
        Piece(str(one.shape), one.work, estimates[one.shape].work, one.gpu_share) for one in several
    )
    return chosen, full, bed[0] if bed else None


def jump(values: Floats, step_s: int) -> Floats:
    """Return minutes that hold the value of their step: demand jumps where one ends."""
    return np.repeat(values, max(1, step_s // BUCKET_S))


def glide(values: Floats, step_s: int) -> Floats:
    """Return minutes on straight lines through the middles of steps; unknown beside an unknown step."""
    width = step_s // BUCKET_S
    middles = (np.arange(len(values)) + 0.5) * width
    minutes: Floats = np.interp(np.arange(len(values) * width) + 0.5, middles, values)
    return minutes
