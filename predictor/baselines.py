"""What a learned forecast has to beat, each with the conformal layer that ours has."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from statsmodels.tsa.holtwinters import ExponentialSmoothing

from predictor.blend import Errors
from predictor.conformal import MEMORY_S
from predictor.features import Features, Target, ago, newest
from predictor.ports import Floats
from predictor.steps import DAY_S, StepSeries

_FITTED_S = 14 * DAY_S
"""History that smoothing is fitted to."""

CYCLES = 2
"""Steps that a day has at least, and days that there must be."""


def yesterday(series: StepSeries, table: Features, width: int) -> Floats:
    """Return by step the same window yesterday, the newest demand where that is not known: seasonal naive."""
    before = ago(table.target, series.steps_in(DAY_S), width)
    return np.where(np.isnan(before), newest(series), before)


def holt_winters(series: StepSeries, width: int, target: Target, refits: list[int]) -> Floats:
    """Return by step what additive Holt-Winters with a daily season says of the window; NaN before a fit.

    Fitted by statsmodels on the two weeks before each refit, then run on with these parameters. What is
    unknown is filled with what it expects.
    """
    day = DAY_S // series.step_s
    said = np.full(len(series), np.nan)
    for first, end in pairwise([*refits, len(series)]):
        start = max(0, first - _FITTED_S // series.step_s)
        past = pd.Series(series.values[start:first]).ffill().bfill().to_numpy()
        if day < CYCLES or len(past) < CYCLES * day or np.isnan(past).any() or np.ptp(past) == 0:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # that a fit has not converged: what it found is what is run on with
            fitted = ExponentialSmoothing(
                past,
                trend="add",
                damped_trend=True,
                seasonal="add",
                seasonal_periods=day,
                initialization_method="heuristic",
            ).fit()
        smoothing = _Smoothing(
            fitted.params["smoothing_level"],
            fitted.params["smoothing_trend"],
            fitted.params["smoothing_seasonal"],
            fitted.params["damping_trend"],
        )
        state = _State(float(fitted.level[-1]), float(fitted.trend[-1]), fitted.season[-day:].copy())
        said[first:end] = _run_on(series.values[first:end], smoothing, state, width, target)
    return np.where(said < 0, 0.0, said)


class _Smoothing(NamedTuple):
    level: float
    trend: float
    season: float
    damping: float


@dataclass(slots=True)
class _State:
    level: float
    trend: float
    season: Floats


def _run_on(values: Floats, smoothing: _Smoothing, state: _State, width: int, target: Target) -> Floats:
    """Return what is said after each value (Hyndman and Athanasopoulos, 2021, section 8.3)."""
    damped = np.cumsum(smoothing.damping ** np.arange(1, width + 1))
    day = len(state.season)
    said = np.empty(len(values))
    for step, value in enumerate(values):
        place = step % day
        drift = smoothing.damping * state.trend
        level, season = state.level, state.season[place]
        known = level + drift + season if math.isnan(value) else value
        state.level = smoothing.level * (known - season) + (1 - smoothing.level) * (level + drift)
        state.trend = smoothing.trend * (state.level - level) + (1 - smoothing.trend) * drift
        state.season[place] = smoothing.season * (known - level - drift) + (1 - smoothing.season) * season
        ahead_of = state.season[(step + 1 + np.arange(width)) % day]
        path = state.level + damped * state.trend + ahead_of
        said[step] = path.max() if target is Target.PEAK else path[-1]
    return said


def calibrated(
    centre: Floats, asked: Floats, width: int, step_s: int, quantiles: tuple[float, ...]
) -> Floats:
    """Return by step and quantile a rule plus the rolling quantiles of its own errors of five days.

    This is the conformal layer that learned forecasts have, on a square-root scale; a second shift on top of
    it was measured to lose 0 to 11 %.

    Args:
        centre: What the rule says at each step, NaN = nothing.
        asked: What came of the window after each step, NaN = unknown.
        width: Steps of the window: an outcome is known that much later.
        step_s: Length of a step.
        quantiles: Rising.
    """
    errors = Errors(MEMORY_S // step_s, quantiles)
    centres, outcomes = np.sqrt(centre), np.sqrt(asked)
    said = np.full((len(centre), len(quantiles)), np.nan)
    for step in range(len(centre)):
        opened = step - width
        if opened >= 0 and np.isfinite(outcomes[opened]) and np.isfinite(centres[opened]):
            errors.add(step, (outcomes[opened] - centres[opened],), is_bound=False)
        said[step] = np.maximum(centres[step] + errors.quantiles(), 0.0) ** 2
    return said
