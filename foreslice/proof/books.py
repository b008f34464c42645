"""What the settings of each policy held and left unserved, workload by workload."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from foreslice.proof.course import Course, Grid
from foreslice.proof.scene import Piece
from foreslice.proof.setting import Rule, Setting
from predictor.highest import trailing_highest
from predictor.ports import Floats
from predictor.value.ledger import Ledger, Limits, ledger
from simulator.coarse import Account, Counts, Stage
from simulator.rivals import rules

ROUND_OFF = 1e-9
"""Of a replica: sums that are equal on paper."""


@dataclass(frozen=True, slots=True)
class Book:
    """Settings of a policy.

    Attributes:
        knobs: What tells the settings apart.
        parts: By workload, what each setting held (cards x steps) and lacked, by block.
    """

    knobs: tuple[object, ...]
    parts: tuple[Ledger, ...]

    @property
    def total(self) -> Ledger:
        """The whole fleet."""
        return Ledger(
            np.sum([one.held for one in self.parts], axis=0),
            np.sum([one.lacked for one in self.parts], axis=0),
            np.sum([one.asked for one in self.parts], axis=0),
        )

    def only(self, setting: int) -> Book:
        """Return one setting alone."""
        return Book((self.knobs[setting],), tuple(part.of_setting(setting) for part in self.parts))

    def blocks(self, span: slice) -> Book:
        """Return some blocks alone."""
        return Book(self.knobs, tuple(part.of_blocks(span) for part in self.parts))

    @staticmethod
    def joined(books: Sequence[Book]) -> Book:
        """Return the settings of several policies as those of one that may choose."""
        return Book(
            tuple(knob for book in books for knob in book.knobs),
            tuple(Ledger.joined(parts) for parts in zip(*(book.parts for book in books), strict=True)),
        )


def book(
    courses: Sequence[Course], grid: Grid, settings: Sequence[Setting], limits: Limits | None = None
) -> Book:
    """Return what settings come to in replicas, under the limits of the grid or others."""
    limits = limits or grid.limits
    alike = [list(group) for _, group in groupby(settings, key=_kind)]
    return Book(
        tuple(one for group in alike for one in group),
        tuple(Ledger.joined(_ledger(course, grid, group, limits) for group in alike) for course in courses),
    )


def _kind(setting: Setting) -> Setting:
    """Return what settings have in common whose targets are multiples of each other."""
    return setting if setting.rule is Rule.FORECAST else replace(setting, factor=1.0)


def _ledger(course: Course, grid: Grid, alike: Sequence[Setting], limits: Limits) -> Ledger:
    one = _kind(alike[0])
    factors = np.array([setting.factor for setting in alike]) / one.factor
    targets = one.target(course, grid, limits)[np.newaxis]
    return in_cards(course, grid, targets, factors, limits)


def in_cards(course: Course, grid: Grid, targets: Floats, factors: Floats, limits: Limits) -> Ledger:
    """Return what factors times targets (setting, step) come to, held in cards x steps."""
    piece = course.part.piece
    own = Limits(limits.lag, limits.quiet, piece.work)
    one = ledger(targets, factors, course.demand, course.counts, own, grid.block)
    return Ledger(one.held * piece.cards / piece.work, one.lacked, one.asked)


def in_replicas(targets: Floats, limits: Limits, piece: Floats | float) -> Counts:
    """Return the replicas of `piece` that are held for targets (step, workload), a step later."""
    wanted = trailing_highest(targets, limits.quiet, axis=0)
    later = np.concatenate([wanted[:1], wanted[:-1]])
    held: Counts = np.maximum(np.ceil(later / piece - ROUND_OFF), 1.0).astype(np.int64)
    return held


def residuals(
    courses: Sequence[Course], grid: Grid, settings: Sequence[Setting], limits: Limits | None = None
) -> Book:
    """Return what `last + residual` comes to: all its quantiles are taken at once."""
    limits = limits or grid.limits
    quantiles = np.array([one.on for one in settings])
    return Book(
        tuple(settings),
        tuple(
            in_cards(
                course,
                grid,
                rules.residual(course.demand, limits.lag, grid.step_s, quantiles),
                np.ones(1),
                limits,
            )
            for course in courses
        ),
    )


def static(courses: Sequence[Course], grid: Grid, quantiles: Floats, span: slice, *, is_whole: bool) -> Book:
    """Return capacity that never moves, sized for quantiles of the work of a span of steps."""
    parts = []
    for course in courses:
        piece: Piece = course.part.whole if is_whole else course.part.piece
        sized = course.demand[span][course.counts[span]]
        replicas = np.maximum(np.ceil(np.quantile(sized, quantiles) / piece.work - ROUND_OFF), 1.0)
        starts = np.arange(0, grid.steps, grid.block)
        asked = np.where(course.counts, course.demand, 0.0)
        lacked = np.maximum(asked - (replicas * piece.work)[:, np.newaxis], 0.0)
        counted = np.add.reduceat(course.counts.astype(np.float64), starts)
        parts.append(
            Ledger(
                (replicas * piece.cards)[:, np.newaxis] * counted,
                np.add.reduceat(lacked, starts, axis=1),
                np.add.reduceat(asked, starts),
            )
        )
    return Book(tuple(f"sized for q{quantile:g}" for quantile in quantiles), tuple(parts))


def stage_of(courses: Sequence[Course], grid: Grid) -> Stage:
    """Return what policies face that look at what they hold."""
    return Stage(
        work=np.stack([course.demand for course in courses], axis=1),
        is_scored=np.stack([course.counts for course in courses], axis=1),
        step_s=grid.step_s,
        lag=grid.limits.lag,
        piece=np.array([course.part.piece.work for course in courses]),
        cards=np.array([course.part.piece.cards for course in courses]),
        block=grid.block,
    )


def of_account(account: Account, knobs: Sequence[object]) -> Book:
    """Return an account as a book."""
    workloads = range(account.asked.shape[0])
    parts = (Ledger(account.held[:, w], account.lacked[:, w], account.asked[w]) for w in workloads)
    return Book(tuple(knobs), tuple(parts))
