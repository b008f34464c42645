"""Models of what comes next, learnt from tables of features: one series' own, or one for many series."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from predictor.boosting import QuantileBoosting
from predictor.calendar import WEEKDAY
from predictor.features import Features, Table
from predictor.forest import Forest
from predictor.ports import Bools, Floats
from predictor.recipe import Recipe, Regressor
from predictor.regressors import Regressors
from predictor.spread import Spread, here
from predictor.steps import DAY_S

LEAST_S = 3 * DAY_S
"""History before an own model is fitted."""

ALIKE = 1.2
"""Weights within this factor count as equal: weighted fits take twice as long."""

LEAST_ROWS = 100
"""Rows before one is."""

ROWS = 80_000
"""Rows that a model is fitted to, evenly thinned down to: windows of near steps are almost the same."""

TAIL = 0.95
"""Quantile above which models see more of the windows that came out above it: what tells one high quantile
from another is rare, and thinned away first (docs/adr/0048-more-of-the-highest-windows.md)."""

WEEKS_S = 21 * DAY_S
"""History from which the day of the week is a feature; with less it is over-fit."""

MEDIAN = 0.5


@dataclass(frozen=True, slots=True)
class Learned:
    """Fitted models.

    Attributes:
        quantiles: Of the demand ahead, relative to level; where the median is among them, the last model is
            the median relative to the newest demand.
        columns: Which columns of `Features.rows` they look at, before the window's length.
        models: The models, trees of ours as flat arrays.
    """

    quantiles: tuple[float, ...]
    columns: Bools
    models: Forest | Regressors

    def predict(self, rows: Table, window_s: float | Floats) -> tuple[Floats, Floats]:
        """Return by row and quantile the log of what comes over level, and the median's over the newest.

        Args:
            rows: Of `Features`.
            window_s: Length of the window ahead, of all rows or of each.
        """
        said = self.models.predict(_with_window(rows[:, self.columns], window_s))
        n = len(self.quantiles)
        return said[:, :n], said[:, -1] if said.shape[1] > n else np.full(len(rows), np.nan)


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one series teaches at a moment.

    Attributes:
        tables: Its features by window in s.
        until: Step before which everything is known, targets too.
        step_s: Length of a step.
    """

    tables: Mapping[int, Features]
    until: int
    step_s: int


def learn(
    lessons: Sequence[Lesson], quantiles: tuple[float, ...], recipe: Recipe, spread: Spread = here
) -> Learned | None:
    """Return a model of all windows of these series, `None` if they teach too little.

    The model of each quantile is fitted by itself, wherever `spread` has it done.

    One model serves all windows, with the window's length as a feature. A series weighs by the root of its
    rows, so that long ones do not drown short ones. A target that is a lower bound (censored demand) takes
    part where it reaches the quantile of the exact ones, as it may raise a quantile and must not lower one.
    Steps are thinned alike, as the recipe says and down to `ROWS` rows at least. Where the latter binds,
    models of quantiles above `TAIL` see more of the highest windows, each of which then weighs less.
    """
    stride, tail_stride = thinned_to(lessons, recipe.every_s)
    parts = [part for lesson in lessons for part in _parts(lesson, stride)]
    if sum(len(part.target) for part in parts) < LEAST_ROWS:
        return None
    columns = _columns(lessons, recipe)
    low = [_Task(quantile, recipe) for quantile in quantiles if quantile <= TAIL]
    high = [_Task(quantile, recipe) for quantile in quantiles if quantile > TAIL]
    last = [_Task(MEDIAN, recipe, is_from_last=True)] if MEDIAN in quantiles else []
    if tail_stride == stride or not high or not has_fit_parameter(recipe.regressor(TAIL), "sample_weight"):
        fitted = spread(_fitted, low + high + last, _taught(parts, columns))
    else:
        below = spread(_fitted, low + last, _taught(parts, columns))
        least = float(np.quantile(np.concatenate([part.target for part in parts]), TAIL))
        body = [part.where(part.target <= least) for part in parts]
        tail = [part.where(part.target > least) for lesson in lessons for part in _parts(lesson, tail_stride)]
        fitted = below[: len(low)] + spread(_fitted, high, _taught(body + tail, columns)) + below[len(low) :]
    return Learned(quantiles, columns, _side_by_side(fitted))


class _Task(NamedTuple):
    """One model: of a quantile of what comes, relative to level or to the newest demand."""

    quantile: float
    recipe: Recipe
    is_from_last: bool = False


class _Taught(NamedTuple):
    """What all models are fitted to, by row; no weight = all count alike."""

    rows: Table
    target: Floats
    from_last: Floats
    is_bound: Bools
    weight: Floats | None


def _fitted(task: _Task, taught: _Taught) -> Regressor:
    model, targets = (
        task.recipe.regressor(task.quantile),
        taught.from_last if task.is_from_last else taught.target,
    )
    counts = ~taught.is_bound
    if taught.is_bound.any() and counts.any():
        exact = None if taught.weight is None else taught.weight[counts]
        counts |= targets >= np.quantile(targets[counts], task.quantile, weights=exact, method="inverted_cdf")
    if taught.weight is not None and has_fit_parameter(model, "sample_weight"):
        weights = taught.weight[counts] / taught.weight[counts].mean()
        return model.fit(taught.rows[counts], targets[counts], sample_weight=weights)
    return model.fit(taught.rows[counts], targets[counts])


def _side_by_side(models: Sequence[Regressor]) -> Forest | Regressors:
    trees = [model for model in models if isinstance(model, QuantileBoosting)]
    return Forest.of(trees) if len(trees) == len(models) else Regressors(tuple(models))


def thinned_to(lessons: Sequence[Lesson], every_s: int) -> tuple[int, int]:
    """Return every how manieth step is learnt from, and is of the highest windows, where there is a choice.

    Args:
        lessons: All that is learnt from.
        every_s: How far apart a recipe wants steps.
    """
    rows = sum(lesson.until * len(lesson.tables) for lesson in lessons)
    apart = max(1, round(every_s / lessons[0].step_s))
    return max(apart, math.ceil(rows / ROWS)), max(apart, math.ceil((1 - TAIL) * rows / (ROWS / 2)))


@dataclass(frozen=True, slots=True)
class _Part:
    rows: Table
    target: Floats
    from_last: Floats
    is_bound: Bools
    weight: float

    def where(self, counts: Bools) -> _Part:
        """Return the rows that count."""
        kept = (self.rows[counts], self.target[counts], self.from_last[counts], self.is_bound[counts])
        return _Part(*kept, self.weight)


def _taught(parts: Sequence[_Part], columns: Bools) -> _Taught:
    weight = np.concatenate([np.full(len(part.target), part.weight) for part in parts])
    return _Taught(
        rows=np.concatenate([part.rows for part in parts])[:, np.append(columns, True)],
        target=np.concatenate([part.target for part in parts]),
        from_last=np.concatenate([part.from_last for part in parts]),
        is_bound=np.concatenate([part.is_bound for part in parts]),
        weight=weight if weight.max() > ALIKE * weight.min() else None,
    )


def _parts(lesson: Lesson, stride: int) -> list[_Part]:
    parts = []
    for window_s, table in lesson.tables.items():
        end = max(0, lesson.until - round(window_s / lesson.step_s))
        known = slice(0, end, stride)
        ahead = np.log(table.target[known] + table.floor[known])
        target, from_last = ahead - np.log(table.level[known]), ahead - np.log(table.last[known])
        counts = np.isfinite(target) & np.isfinite(from_last)
        rows = _with_window(table.rows[known][counts], window_s)
        # Of all rows there were about stride x those that count: each stands for `stride` of them.
        weight = math.sqrt(stride / max(1, int(counts.sum())))
        parts.append(_Part(rows, target[counts], from_last[counts], table.is_bound[known][counts], weight))
    return parts


def _columns(lessons: Sequence[Lesson], recipe: Recipe) -> Bools:
    names = next(iter(lessons[0].tables.values())).names
    is_long = max(lesson.until * lesson.step_s for lesson in lessons) >= WEEKS_S
    return np.array([recipe.takes(name) and (is_long or name != WEEKDAY) for name in names])


def _with_window(rows: Table, window_s: float | Floats) -> Table:
    return np.column_stack([rows, np.full(len(rows), np.log(window_s), dtype=np.float32)])
