"""Models refitted as time goes by, and what each said until the next one came."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from predictor.features import Features
from predictor.learned import LEAST_S, Learned, Lesson, learn
from predictor.ports import Floats
from predictor.recipe import Recipe, Recipes
from predictor.steps import DAY_S, StepSeries

DAILY_UNTIL_S = 21 * DAY_S
"""History up to which models are refitted daily, weekly from then on."""

Tables = Mapping[int, Features]
"""Features of one series, by window in s."""

MODELS = 2
"""An own model and one that all series share."""


@dataclass(frozen=True, slots=True)
class Logs:
    """What models said of one series and window.

    Attributes:
        learned: By step, model and quantile, log of what comes over level; NaN where there was no model.
        anchored: By step and model, log of the median of what comes over the newest demand.
    """

    learned: Floats
    anchored: Floats


def refit_times(starts_s: Sequence[float], ends_s: Sequence[float], first_s: Sequence[float]) -> list[float]:
    """Return when models of a fleet are refitted: daily while its youngest history is short, then weekly.

    Args:
        starts_s: Where each series starts.
        ends_s: Where it ends.
        first_s: When it is to have its first model.
    """
    at_s, times = min(first_s), []
    spans = list(zip(starts_s, ends_s, strict=True))
    while at_s < max(ends_s):
        there = [start_s for start_s, end_s in spans if start_s <= at_s < end_s]
        if there:
            times.append(at_s)
            at_s += DAY_S if at_s - max(there) < DAILY_UNTIL_S else 7 * DAY_S
        else:
            at_s = min(start_s for start_s in starts_s if start_s > at_s)
    return times


def roll(
    series: Sequence[StepSeries],
    tables: Sequence[Tables],
    first_s: Sequence[float],
    quantiles: tuple[float, ...],
    recipes: Recipes,
    on_fit: Callable[[int, int], None],
) -> list[dict[int, Logs]]:
    """Return for each series what models said at each step that knew nothing later.

    Args:
        series: Of the same step.
        tables: Their features.
        first_s: When each is to have its first model.
        quantiles: Rising.
        recipes: How models are learnt.
        on_fit: Told before each refit which one it is, and of how many.
    """
    times = refit_times([one.start_s for one in series], [one.end_s for one in series], first_s)
    logs = [{window_s: _nothing(len(one), len(quantiles)) for window_s in tables[0]} for one in series]
    for turn, (at_s, until_s) in enumerate(pairwise([*times, np.inf])):
        on_fit(turn, len(times))
        spans = [_steps(one, at_s, until_s) for one in series]
        taught = [
            (i, Lesson(tables[i], span.start, one.step_s))
            for i, (one, span) in enumerate(zip(series, spans, strict=True))
            if span.start * one.step_s >= LEAST_S
        ]
        pooled = (
            _fitted([lesson for _, lesson in taught], quantiles, recipes.pooled) if len(series) > 1 else None
        )
        for i, span in enumerate(spans):
            if span.start < span.stop:
                is_due = at_s >= first_s[i]
                own = _fitted([lesson for j, lesson in taught if j == i and is_due], quantiles, recipes.own)
                _say(logs[i], tables[i], span, (own, pooled))
    return logs


def _nothing(steps: int, quantiles: int) -> Logs:
    return Logs(np.full((steps, MODELS, quantiles), np.nan), np.full((steps, MODELS), np.nan))


def _steps(series: StepSeries, at_s: float, until_s: float) -> slice:
    """Return the steps that end in [at_s, until_s): what a refit knows of ends before the first of them."""
    first, stop = np.searchsorted(series.ends_s, (at_s, until_s))
    return slice(int(first), int(stop))


def _fitted(lessons: Sequence[Lesson], quantiles: tuple[float, ...], recipe: Recipe) -> Learned | None:
    return learn(lessons, quantiles, recipe) if lessons else None


def _say(logs: Mapping[int, Logs], tables: Tables, span: slice, models: Sequence[Learned | None]) -> None:
    for place, model in enumerate(models):
        if model is not None:
            for window_s, table in tables.items():
                learned, anchored = model.predict(table.rows[span], window_s)
                logs[window_s].learned[span, place] = learned
                logs[window_s].anchored[span, place] = anchored
