"""Settings of which each has an equal say: what the days before leave open is not decided by a hair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from foreslice.proof import books
from foreslice.proof.books import Book
from foreslice.proof.course import Course, Grid
from foreslice.proof.setting import Rule, Setting
from predictor.ports import Floats
from predictor.value.ledger import Limits

NEAR = 0.05
"""Share that a setting may hold more than the cheapest and still have a say."""

SHARES = np.geomspace(0.05, 4.0, 20)
"""Parts of what may go unserved at which rules are averaged in hindsight."""


FACTORS = np.geomspace(0.85, 1 / 0.85, 13)
"""That averages are multiplied by in hindsight, as single rules are by theirs; the seventh is 1."""


@dataclass(frozen=True, slots=True)
class Mean:
    """What several settings want on average, each of another kind."""

    settings: tuple[Setting, ...]

    @property
    def say(self) -> float:
        """Share of the settings that are forecasts."""
        return sum(one.rule is Rule.FORECAST for one in self.settings) / len(self.settings)

    def __str__(self) -> str:
        said = ", ".join(map(str, self.settings))
        return said if len(self.settings) == 1 else f"mean of {said}"

    def times(self, factor: float) -> Mean:
        """Return rules that want so many times as much."""
        return Mean(tuple(replace(one, factor=factor * one.factor) for one in self.settings))

    def target(self, course: Course, grid: Grid, limits: Limits) -> Floats:
        """Return the capacity that it wants at the end of each step."""
        wanted: Floats = np.mean([one.target(course, grid, limits) for one in self.settings], axis=0)
        return wanted


def near_cheapest(knobs: Sequence[object], unserved: Floats, held: Floats, aim: float) -> Mean | None:
    """Return the cheapest setting of each kind that left no more than `aim`, of kinds near the cheapest.

    `None` where no setting left so little. A kind is a quantile of the forecast and how long that stands, or
    how far a rule looks back; the residual rule is one.

    Args:
        knobs: Settings.
        unserved: Share of the work that each left.
        held: What each held.
        aim: Share of the work.
    """
    best: dict[Setting, tuple[float, Setting]] = {}
    for knob, left, cost in zip(knobs, unserved.tolist(), held.tolist(), strict=True):
        if not isinstance(knob, Setting):
            raise TypeError("only settings are averaged")
        kind = _kind(knob)
        if left <= aim and (kind not in best or cost < best[kind][0]):
            best[kind] = (cost, knob)
    if not best:
        return None
    most = (1.0 + NEAR) * min(cost for cost, _ in best.values())
    return Mean(tuple(setting for cost, setting in best.values() if cost <= most))


def _kind(setting: Setting) -> Setting:
    on = 0.0 if setting.rule is Rule.RESIDUAL else setting.on
    return replace(setting, on=on, factor=1.0)


def in_hindsight(rules: Book, allowed: float) -> list[Mean]:
    """Return averages of rules, each of those near the cheapest at some share of the work."""
    total = rules.total
    unserved, held = total.lacked.sum(axis=1) / total.asked.sum(), total.held.sum(axis=1)
    found = (near_cheapest(rules.knobs, unserved, held, part * allowed) for part in SHARES)
    return list(dict.fromkeys(one for one in found if one is not None and len(one.settings) > 1))


def book(means: Sequence[Mean], courses: Sequence[Course], grid: Grid) -> Book:
    """Return what averages of rules come to, times each of `FACTORS`."""
    parts = []
    for course in courses:
        wanted = wanted_on(course, grid)
        targets = np.stack([wanted(one) for one in means])
        parts.append(books.in_cards(course, grid, targets, FACTORS, grid.limits))
    return Book(tuple(one.times(factor) for one in means for factor in FACTORS.tolist()), tuple(parts))


def wanted_on(course: Course, grid: Grid) -> Callable[[Mean], Floats]:
    """Return what averages want of a workload; each setting is worked out once."""

    @cache
    def one(setting: Setting) -> Floats:
        return setting.target(course, grid, grid.limits)

    def wanted(mean: Mean) -> Floats:
        target: Floats = np.mean([one(setting) for setting in mean.settings], axis=0)
        return target

    return wanted
