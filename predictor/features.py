"""What a learned forecast goes by: where demand stands, where it came from and what it did a day ago.

Every feature is relative to a level on a log scale, so that a model learnt at one level holds at another, and
one model serves many workloads. The row of a step is made from that step and earlier ones only. Forty further
features (volatility, burst history, clients, other tenants) were measured to add nothing or to over-fit
(docs/adr/0021-learned-forecasts.md).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from predictor.calendar import Calendar
from predictor.highest import trailing_highest
from predictor.ports import Bools, Floats
from predictor.steps import DAY_S, StepSeries
from predictor.trailing import padded, shifted, trailing, trailing_mean

LEVEL_HALF_LIFE_S = 1800.0
"""Half-life of the level that features and targets are relative to."""

NEWEST_S = 300
"""How long the newest demand is a mean of: a minute alone is mostly noise."""

FLOOR = 0.02
"""Share of the mean so far that is added to demand and level: logs of nothing are finite."""

_STEPS = 3
"""Newest steps that are looked at one by one."""

_LAGS_S = (600, 1200, 1800, 2400, 3000, 3600, 7200, 10800)
_WINDOWS_S = (1800, 3600, 10800, 21600, 43200, 86400)
_HOUR_S = 3600
_SAME_MINUTES = 6
"""Hours over which the same minutes of the hour are looked at: what cron starts."""

_DAYS = 3
"""Days that the usual rise is the median of; their mean follows one odd day."""

_WEEK_S = 7 * DAY_S

_TINY = 1e-9

Table = NDArray[np.float32]


class Target(StrEnum):
    """What is forecast of the window ahead."""

    PEAK = "peak"
    """Its highest step."""
    STEP = "step"
    """Its last step."""


@dataclass(frozen=True, slots=True)
class Features:
    """The table of one series and window, a row a step.

    Attributes:
        names: Of the columns.
        rows: By step and column; NaN where a series does not go back that far.
        level: Demand that the row is relative to, plus floor; NaN before any is known.
        last: The newest demand, plus floor.
        floor: What was added.
        hour: The highest step of the last hour, the newest demand if none is known.
        seasonal: The higher of the newest demand and the same window a week ago, NaN where that is not known.
        rise: How far the same window stood above its newest demand on the three days before, on a square-root
            scale: the median of those that are known, NaN without any.
        target: Highest demand of the window ahead (or of the step that ends it); NaN where not known whole.
        is_bound: Where that is a lower bound.
    """

    names: tuple[str, ...]
    rows: Table
    level: Floats
    last: Floats
    floor: Floats
    hour: Floats
    seasonal: Floats
    rise: Floats
    target: Floats
    is_bound: Bools

    @property
    def newest_or_last_week(self) -> Floats:
        """The rule max(last, last week): `seasonal`, the newest demand where that is not known."""
        return np.where(np.isnan(self.seasonal), self.last - self.floor, self.seasonal)


def features(
    series: StepSeries,
    windows_s: Sequence[int],
    calendar: Calendar,
    target: Target = Target.PEAK,
    since: int = 0,
) -> dict[int, Features]:
    """Return by window in s the table of a series for what comes in it.

    The row of a step holds nothing later than that step; its target is what came after it. Rows before the
    step `since` are left out; to leave them out costs less than to make them.
    """
    past = _Past(series, since)
    recent = _recent(past)
    newest_demand = past.newest[since:]
    hour = np.fmax(trailing(series.values, series.steps_in(_HOUR_S), 1, since).highest, newest_demand)
    tables = {}
    for window_s in windows_s:
        width = series.steps_in(window_s)
        asked = ahead(series.highest, width, target)
        columns = {
            **recent,
            **_seasonal(past, width, asked),
            **dict(calendar.columns(series.ends_s[since:], window_s)),
        }
        tables[window_s] = Features(
            names=tuple(columns),
            rows=_side_by_side(columns.values(), len(newest_demand)),
            level=past.level[since:],
            last=newest_demand + past.floor[since:],
            floor=past.floor[since:],
            hour=hour,
            seasonal=np.maximum(newest_demand, ago(asked, series.steps_in(_WEEK_S), width)[since:]),
            rise=_rise(past, width, asked),
            target=asked[since:],
            is_bound=_is_bound(series, width)[since:],
        )
    return tables


def ahead(values: Floats, width: int, target: Target) -> Floats:
    """Return by step the target of the window of `width` steps after it, NaN unless all of it is known."""
    if target is Target.STEP:
        asked = values[width:]
    else:
        highest = trailing_highest(np.where(np.isnan(values), np.inf, values), width)[width:]
        asked = np.where(np.isinf(highest), np.nan, highest)
    return np.concatenate([asked, np.full(len(values) - len(asked), np.nan)])


def newest(series: StepSeries) -> Floats:
    """Return by step the newest demand: the mean of five minutes, or the last step where that is longer."""
    width = series.steps_in(NEWEST_S)
    mean = series.values if width == 1 else trailing_mean(series.values, width, 0)
    last_known = np.maximum.accumulate(np.where(np.isfinite(mean), np.arange(len(mean)), 0))
    return mean[last_known]


def ago(asked: Floats, back: int, width: int) -> Floats:
    """Return by step what came of the window `back` steps ago, NaN where that is not known by now."""
    if back < width:
        return np.full(len(asked), np.nan)
    return shifted(asked, back, 0)


def _side_by_side(columns: Collection[Floats], rows: int) -> Table:
    table = np.empty((rows, len(columns)), np.float32)
    for place, column in enumerate(columns):
        table[:, place] = column
    return table


def _is_bound(series: StepSeries, width: int) -> Bools:
    """Return by step whether what comes of the window after it is a lower bound: one of its steps is."""
    bounds = np.concatenate([[0], np.cumsum(series.is_censored), np.full(width, np.nan)])
    opened = np.arange(1, len(series) + 1)
    is_bound: Bools = bounds[opened + width] > bounds[opened]
    return is_bound


def _rise(past: _Past, width: int, asked: Floats) -> Floats:
    """Return `Features.rise` of the steps asked for."""
    day = past.series.steps_in(DAY_S)
    rises = np.sqrt(asked) - np.sqrt(past.newest)
    known = [shifted(rises, k * day, past.since) for k in range(1, _DAYS + 1) if k * day >= width]
    if not known:
        return np.full(len(asked) - past.since, np.nan)
    rows = np.sort(np.column_stack(known), axis=1)  # unknown ones last
    row, n = np.arange(len(rows)), np.isfinite(rows).sum(axis=1)
    median: Floats = (rows[row, np.maximum(n - 1, 0) // 2] + rows[row, n // 2 * (n > 0)]) / 2
    return median


class _Past:
    """A series with the level that features of it are relative to, and the first step that is asked for."""

    def __init__(self, series: StepSeries, since: int) -> None:
        self.series = series
        self.since = since
        values = pd.Series(series.values)
        mean = values.ewm(halflife=LEVEL_HALF_LIFE_S / series.step_s, ignore_na=True).mean()
        self.floor: Floats = np.maximum(FLOOR * values.expanding().mean().to_numpy(np.float64), _TINY)
        self.level: Floats = mean.to_numpy(np.float64) + self.floor
        self.newest = newest(series)

    def relative(self, values: Floats) -> Floats:
        """Return values of the steps asked for on the log scale of the level."""
        logs: Floats = np.log((values + self.floor[self.since :]) / self.level[self.since :])
        return logs

    def mean_before(self, length_s: float, steps: int) -> Floats:
        """Return means over a length of time that ended so many steps before, on the log scale."""
        width = self.series.steps_in(length_s)
        first = max(0, self.since - steps)
        means = trailing_mean(self.series.values[: max(0, len(self.series) - steps)], width, first)
        return self.relative(padded(means, len(self.series) - self.since))


def _recent(past: _Past) -> dict[str, Floats]:
    series, since = past.series, past.since
    columns = {f"{k} steps ago": past.relative(shifted(series.values, k, since)) for k in range(_STEPS)}
    for lag_s in _LAGS_S:
        k = round(lag_s / series.step_s)
        if k >= _STEPS:
            columns[f"{lag_s} s ago"] = past.mean_before(_LAGS_S[0], k)
    for window_s in _WINDOWS_S:
        k = round(window_s / series.step_s)
        if k > 1:
            window = trailing(series.values, k, max(1, k // 2), since)
            columns[f"mean of {window_s} s"] = past.relative(window.mean)
            columns[f"max of {window_s} s"] = past.relative(window.highest)
            columns[f"min of {window_s} s"] = past.relative(window.lowest)
            columns[f"sd of {window_s} s"] = np.log1p(window.deviation / past.level[since:])
    return columns


def _seasonal(past: _Past, width: int, asked: Floats) -> dict[str, Floats]:
    series, since = past.series, past.since
    growth = np.log((asked + past.floor) / past.level)
    columns = {}
    for name, ago_s in (("yesterday", DAY_S), ("last week", _WEEK_S)):
        k = round(ago_s / series.step_s)
        if k >= width:
            columns[f"{name}, window"] = past.relative(shifted(asked, k, since))
            columns[f"{name}, growth"] = shifted(growth, k, since)
            columns[f"{name}, hour before"] = past.mean_before(_HOUR_S, k)
            columns[f"{name}, hour after"] = past.mean_before(_HOUR_S, k - width)
    hour = round(_HOUR_S / series.step_s)
    same = np.full((len(growth) - since, _SAME_MINUTES), np.nan)
    if width <= hour:  # that of an hour ago is over; the columns are there for all windows
        same = np.column_stack([shifted(growth, k * hour, since) for k in range(1, _SAME_MINUTES + 1)])
    is_known = np.isfinite(same)
    total, known = np.where(is_known, same, 0.0).sum(axis=1), is_known.sum(axis=1)
    columns["growth, same minute, mean"] = np.where(known > 0, total / np.maximum(known, 1), np.nan)
    columns["growth, same minute, max"] = np.fmax.reduce(same, axis=1)
    return columns
