"""The forecaster in production: for each window the highest rung that has earned it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Self

import numpy as np

from fleet.demand import WINDOWS_S, PeakForecast
from fleet.workload import WorkloadKey
from predictor.forecasters.base import STRIDE, Row, forecast
from predictor.forecasters.daily import Daily
from predictor.forecasters.last_value import LastValue
from predictor.forecasters.residual import Residual
from predictor.ports import BUCKET_S, Floats, WorkSeries
from predictor.track import DAY, WIDTHS, Track

REMEMBERED_DAYS = 3
"""Earlier days (UTC) whose losses are compared."""

_ENOUGH = DAY // STRIDE // 2
"""Origins that both rungs were scored at before a comparison counts: half a day."""


class Ladder:
    """Last value until there are errors to learn from, then residual, then daily where it won before.

    `daily` takes over a window at the turn of a day, if over the earlier days (three at most) its forecasts,
    made out of sample, had the lower pinball loss at the same origins; it loses the window the same way.
    """

    def __init__(self, workload: WorkloadKey) -> None:
        self._workload = workload
        self._residual = Residual(workload)
        self._daily = Daily(workload)

    def fit(self, history: WorkSeries) -> Self:
        """Learn from a history, forgetting any other, and return self."""
        track = Track(history.start_s)
        self._residual.follow(track, len(history.work))
        self._daily.follow(track, len(history.work))
        self._today = np.zeros((len(WIDTHS), 3))
        self._days: deque[Floats] = deque(maxlen=REMEMBERED_DAYS)
        self._is_daily = [False] * len(WIDTHS)
        for work, is_censored in zip(history.work.tolist(), history.is_censored.tolist(), strict=True):
            self.update(work, is_censored=is_censored)
        return self

    def update(self, work: float, *, is_censored: bool = False) -> None:
        """Take in the next closed bucket (NaN = unknown); `RefusedError` before `fit`."""
        track = self._residual.track
        track.append(work, is_censored=is_censored)
        by_residual, by_daily = self._residual.learn(), self._daily.learn()
        for window in by_residual.keys() & by_daily.keys():
            self._today[window] += (by_residual[window], by_daily[window], 1)
        if (track.end_s // BUCKET_S) % DAY == 0:
            self._judge()

    def peaks(self) -> PeakForecast:
        """Return the peaks of all windows; `RefusedError` while no bucket is known."""
        track = self._residual.track
        rungs, rows = zip(*(self._row(window) for window in range(len(WIDTHS))), strict=True)
        names = [rung for rung in (LastValue.rung, Residual.rung, Daily.rung) if rung in rungs]
        return forecast(self._workload, " + ".join(names), track, rows)

    @property
    def rungs(self) -> Mapping[int, str]:
        """The rung in use by window in s."""
        return {window_s: self._row(window)[0] for window, window_s in enumerate(WINDOWS_S)}

    def _row(self, window: int) -> tuple[str, Row | None]:
        """Return the rung and its row; where the daily pattern has a gap the residuals stand in."""
        if self._is_daily[window]:
            row = self._daily.row(window)
            if row is not None:
                return self._daily.rung, row
        row = self._residual.row(window)
        return (LastValue.rung if row is None else self._residual.rung), row

    def _judge(self) -> None:
        """Close the day and compare the rungs over the days that are remembered."""
        self._days.append(self._today)
        self._today = np.zeros_like(self._today)
        losses = np.sum(self._days, axis=0)
        self._is_daily = [bool(daily < residual and n >= _ENOUGH) for residual, daily, n in losses]
