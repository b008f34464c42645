"""Where the GPU-hours above the oracle's go, and which hours went unserved, with the reason."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from foreslice.proof import books
from foreslice.proof.books import Book
from foreslice.proof.course import Course
from foreslice.proof.setting import HOLDS
from foreslice.proof.sweep import BOUND, ORACLE, OURS, Run, following
from foreslice.proof.trail import Figures, Trail
from predictor.highest import highest_ahead, trailing_highest
from predictor.ports import Bools
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
        delay: Orders ready at once, without a forecast: the best `hold`.
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
    at_once = books.book(run.courses, run.grid, HOLDS, Limits(0, run.grid.limits.quiet))
    prompt = replace(run, books={**run.books, "prompt": _scored(at_once, run)})
    sure = [
        replace(c, part=replace(c.part, piece=replace(c.part.piece, work=c.part.piece.expected)))
        for c in run.courses
    ]
    believed = _scored(following(sure, run.grid, run.choices), run)
    return Split(
        demand=_saved(spent, run.hours(ORACLE)),
        delay=_saved(spent, prompt.hours("prompt")),
        limits=_saved(spent, run.hours(BOUND)),
        capacity=spent - float(believed.total.held.sum()) * run.grid.step_s / 3600,
        packing=figures.elastic - figures.slices,
    )


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
    for at, course in enumerate(run.courses):
        ready = trail.ready[:, at] * trail.piece[at]
        short = np.where(course.counts[grid.test :], np.maximum(course.demand[grid.test :] - ready, 0.0), 0.0)
        lacked = np.add.reduceat(short, np.arange(0, len(short), by_hour)) / by_hour
        total += float(lacked.sum())
        kinds = reasons(course, grid.limits.lag, grid.step_s)[:, grid.test :]
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
