"""One policy at the setting that counts for it: what it held step by step, and what that comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foreslice.proof import books
from foreslice.proof.books import ROUND_OFF, Book
from foreslice.proof.course import Course
from foreslice.proof.mean import Mean
from foreslice.proof.setting import Setting
from foreslice.proof.sweep import (
    BOUND,
    FIXED,
    OURS,
    RIVALS,
    STATIC_GPU,
    STATIC_GPU_TRAINED,
    Looking,
    Run,
    followed,
)
from predictor.highest import trailing_highest
from predictor.ports import Floats
from predictor.steps import DAY_S
from predictor.value.ledger import Limits
from simulator.coarse import Counts, drive

NODE = 8
"""Cards of a node."""

STILL = {STATIC_GPU, STATIC_GPU_TRAINED}


@dataclass(frozen=True, slots=True)
class Trail:
    """What a policy held.

    Attributes:
        held: Replicas by step and workload, from the first scored step on.
        ready: Those that were ready.
        cards: Cards that one takes, by workload.
        piece: Work that one carries.
    """

    held: Counts
    ready: Counts
    cards: Floats
    piece: Floats

    @property
    def in_use(self) -> Floats:
        """Cards by step, as parts of cards."""
        used: Floats = self.held @ self.cards
        return used


@dataclass(frozen=True, slots=True)
class Figures:
    """What a trail comes to; hours are card-hours.

    Attributes:
        slices: Of the slices held.
        elastic: Of whole cards, slices packed without a gap.
        nodes: Of whole nodes of `NODE` cards, likewise.
        fixed_pool: Of as many cards as were held at most, all the time.
        utilisation: Work that came over what was held.
        goodput: Work that was served for each hour of slices.
        attainment: Share of the work that was served.
        worst: Workload of which least was served.
        worst_attainment: Share of its work.
        violation_minutes: Minutes in which some of a workload's work went unserved, over all workloads.
        starts: Replicas started.
        changes_per_day: Moves up or down for each workload and day.
    """

    slices: float
    elastic: float
    nodes: float
    fixed_pool: float
    utilisation: float
    goodput: float
    attainment: float
    worst: str
    worst_attainment: float
    violation_minutes: float
    starts: int
    changes_per_day: float


def trail_of(run: Run, policy: str) -> Trail:
    """Return what a policy held at the setting that counts for it."""
    grid, courses = run.grid, run.courses
    cards, piece = (np.array([getattr(c.part.piece, name) for c in courses]) for name in ("cards", "work"))
    if policy in STILL:
        cards, piece = (
            np.array([getattr(c.part.whole, name) for c in courses]) for name in ("cards", "work")
        )
    book = run.at(policy)
    knob, rival = book.knobs[0], RIVALS.get(policy)
    limits = grid.limits
    if isinstance(knob, Setting | Mean):
        limits = Limits(0, 1) if policy == BOUND else limits
        targets = [knob.target(course, grid, limits) for course in courses]
        held = books.in_replicas(np.stack(targets, axis=1), limits, piece)
    elif policy in {OURS, FIXED}:
        choices = run.choices if policy == OURS else run.choices[:1]
        targets = [followed(course, grid, choices) for course in courses]
        held = books.in_replicas(np.stack(targets, axis=1), limits, piece)
    elif isinstance(rival, Looking):
        at = run.books[policy].knobs.index(knob)
        seen: list[Counts] = []
        one = rival.make(rival.knobs[at : at + 1], courses, grid)
        drive(one, books.stage_of(courses, grid), lambda now: seen.append(now[0]))
        held = np.stack(seen)
    else:
        held = np.tile(_still(book, courses, cards, grid.test), (grid.steps, 1))
    ready = -trailing_highest(-held, limits.lag + 1, axis=0)  # what was ordered that long ago is ready
    return Trail(held[grid.test :], ready[grid.test :], cards, piece)


def _still(book: Book, courses: Sequence[Course], cards: Floats, test: int) -> Counts:
    """Return the replicas of capacity that never moves."""
    held = np.array([part.held.sum() for part in book.parts])
    counted = np.array([course.counts[test:].sum() for course in courses])
    still: Counts = np.round(held / np.maximum(counted, 1) / cards).astype(np.int64)
    return still


def figures_of(trail: Trail, run: Run) -> Figures:
    """Return what a trail comes to."""
    grid, courses = run.grid, run.courses
    demand, counts = (
        np.stack([getattr(course, name)[grid.test :] for course in courses], axis=1)
        for name in ("demand", "counts")
    )
    hour = grid.step_s / 3600
    asked = np.where(counts, demand, 0.0)
    lacked = np.where(counts, np.maximum(demand - trail.ready * trail.piece, 0.0), 0.0)
    served = asked.sum() - lacked.sum()
    attained = 1.0 - lacked.sum(axis=0) / np.maximum(asked.sum(axis=0), ROUND_OFF)
    worst = int(np.argmin(attained))
    moves = np.diff(trail.held, axis=0)
    used = trail.in_use
    whole = np.ceil(used - ROUND_OFF)
    days = len(used) * grid.step_s / DAY_S
    return Figures(
        slices=float(used.sum() * hour),
        elastic=float(whole.sum() * hour),
        nodes=float((np.ceil(whole / NODE) * NODE).sum() * hour),
        fixed_pool=float(whole.max() * len(used) * hour),
        utilisation=float(asked.sum() / (counts * trail.held * trail.cards).sum()),
        goodput=float(served / (counts * trail.held * trail.cards).sum()),
        attainment=float(served / asked.sum()),
        worst=courses[worst].part.name,
        worst_attainment=float(attained[worst]),
        violation_minutes=float((lacked > ROUND_OFF).sum() * grid.step_s / 60),
        starts=int(np.maximum(moves, 0).sum()),
        changes_per_day=float((moves != 0).sum() / len(courses) / days),
    )
