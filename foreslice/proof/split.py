"""Where the GPU-hours above the oracle's go, and which hours went unserved, with the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from foreslice.proof import books
from foreslice.proof.books import Book
from foreslice.proof.course import Course
from foreslice.proof.setting import FORESIGHT
from foreslice.proof.sweep import BOUND, ORACLE, OURS, Run, following, rules_of, with_averages
from foreslice.proof.trail import Figures, Trail
from predictor.highest import highest_ahead, trailing_highest
from predictor.ports import Bools, Floats
from predictor.steps import DAY_S
from predictor.value.ledger import Limits

BURST = 1.5
"""A rise to more than this, since an order could have been made, is a burst."""

SEASON, NEAR_S = 0.9, 900
"""What yesterday had this share of, as near to the time of day, was to be known from it."""

WORST_HOURS = 10


@dataclass(frozen=True, slots=True)
class Split:
    """Card-hours that foreslice would save if one part were perfect; `None` = not to be had so cheaply.

    Attributes:
        demand: Demand known until an order is ready: the oracle's.
        delay: Orders ready at once, without a forecast: the best rule.
        limits: Neither lag nor quiet time, and demand known.
        capacity: Capacities as expected instead of their lower bounds.
        packing: Whole cards packed without a gap instead of counting every card in use.
    """

    demand: float | None
    delay: float | None
    limits: float | None
    capacity: float
    packing: float


def split_of(run: Run, figures: Figures) -> Split:
    """Return the split of ours; `figures` are its own."""
    spent = run.hours(OURS) or 0.0
    sure = [
        replace(c, part=replace(c.part, piece=replace(c.part.piece, work=c.part.piece.expected)))
        for c in run.courses
    ]
    believed = _scored(following(sure, run.grid, run.choices), run)
    return Split(
        demand=_saved(spent, run.hours(ORACLE)),
        delay=_saved(spent, hours_at_once(run)),
        limits=_saved(spent, run.hours(BOUND)),
        capacity=spent - float(believed.total.held.sum()) * run.grid.step_s / 3600,
        packing=figures.elastic - figures.slices,
    )


def hours_at_once(run: Run) -> float | None:
    """Return what the best rule takes whose orders are ready at once; `None` = never so little."""
    grid = replace(run.grid, lag_s=0.0, limits=Limits(0, run.grid.limits.quiet))
    rules = rules_of(run.courses, grid)
    return _hours_of(run, with_averages(rules, run.courses, grid, run.unserved))


@dataclass(frozen=True, slots=True)
class Binding:
    """What limits cost who knows demand: card-hours over the bound's, under both and under each alone."""

    both: float
    lag: float
    quiet: float


def binding_of(run: Run) -> Binding | None:
    """Return what lag and quiet time cost the oracle; `None` = it is never at so little unserved."""
    lag, quiet = run.grid.limits.lag, run.grid.limits.quiet
    bound, both = run.hours(BOUND), run.hours(ORACLE)
    alone = [
        _hours_of(run, books.book(run.courses, run.grid, FORESIGHT, limits))
        for limits in (Limits(lag, 1), Limits(0, quiet))
    ]
    if not bound or both is None or alone[0] is None or alone[1] is None:
        return None
    return Binding(both / bound, alone[0] / bound, alone[1] / bound)


def _hours_of(run: Run, book: Book) -> float | None:
    """Return the least that other settings take at the work that ours left unserved."""
    return replace(run, books={**run.books, "other": _scored(book, run)}).hours("other")


def _scored(book: Book, run: Run) -> Book:
    return book.blocks(slice(run.grid.first_block, None))


def _saved(spent: float, hours: float | None) -> float | None:
    return None if hours is None else spent - hours


@dataclass(frozen=True, slots=True)
class WorstHour:
    """An hour in which much work went unserved.

    Attributes:
        hour: Hours since the first scored step.
        workload: Whose.
        lacked: Work x hours that went unserved.
        share: Of all that went unserved.
        because: Why.
    """

    hour: int
    workload: str
    lacked: float
    share: float
    because: str


def worst_hours(run: Run, trail: Trail) -> list[WorstHour]:
    """Return the hours in which most went unserved under a policy with this trail, worst first."""
    grid = run.grid
    by_hour = 3600 // grid.step_s
    found = []
    total = 0.0
    for course, short, kinds in _short(run, trail):
        lacked = np.add.reduceat(short, np.arange(0, len(short), by_hour)) / by_hour
        total += float(lacked.sum())
        for hour in np.argsort(-lacked)[:WORST_HOURS].tolist():
            span = slice(hour * by_hour, (hour + 1) * by_hour)
            weights = (kinds[:, span] * short[span]).sum(axis=1)
            found.append((float(lacked[hour]), hour, course.part.name, _KINDS[int(np.argmax(weights))]))
    found.sort(reverse=True)
    return [
        WorstHour(hour, name, lacked, lacked / total, because)
        for lacked, hour, name, because in found[:WORST_HOURS]
        if lacked > 0
    ]


def by_kind(run: Run, trail: Trail) -> Mapping[str, Floats]:
    """Return by workload the work x steps that went unserved: in a burst, of a season, by drift."""
    return {course.part.name: (kinds * short).sum(axis=1) for course, short, kinds in _short(run, trail)}


BURSTS = 0
"""Place of bursts in what `by_kind` returns."""


def _short(run: Run, trail: Trail) -> Iterator[tuple[Course, Floats, Bools]]:
    """Yield each workload with what went unserved of it by scored step, and by kind why."""
    grid = run.grid
    for at, course in enumerate(run.courses):
        ready = trail.ready[:, at] * trail.piece[at]
        short = np.where(course.counts[grid.test :], np.maximum(course.demand[grid.test :] - ready, 0.0), 0.0)
        yield course, short, reasons(course, grid.limits.lag, grid.step_s)[:, grid.test :]


_KINDS = (
    "a burst: more than half again what it was when an order had to be made",
    "season: yesterday had it, too, and it was not held",
    "drift: it grew, slowly",
)


def reasons(course: Course, lag: int, step_s: int) -> Bools:
    """Return by kind (season, else burst, else drift, in the order of `_KINDS`) and step which one it is."""
    work = course.demand
    day, near = DAY_S // step_s, NEAR_S // step_s
    around = np.maximum(trailing_highest(work, near + 1), highest_ahead(work, near))
    yesterday = np.concatenate([np.zeros(min(day, len(work))), around])[: len(work)]
    before = np.concatenate([np.repeat(work[:1], lag + 1), work])[: len(work)]
    season: Bools = yesterday >= SEASON * work
    burst: Bools = (work > BURST * before) & ~season
    return np.stack([burst, season, ~season & ~burst])
