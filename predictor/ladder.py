"""The forecaster in production: for each window the highest rung that has earned it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import Self

import numpy as np

from fleet.demand import WINDOWS_S, PeakForecast
from fleet.workload import WorkloadKey
from predictor.drift import DriftWatch
from predictor.forecasters.base import STRIDE, Row, forecast
from predictor.forecasters.daily import Daily
from predictor.forecasters.last_value import LastValue
from predictor.forecasters.learned import LearnedRung
from predictor.forecasters.residual import Residual
from predictor.learning import Learning, Train
from predictor.ports import BUCKET_S, Floats, WorkSeries
from predictor.shared import Shelf
from predictor.track import DAY, WIDTHS, Track
from predictor.value.gate import RECENT_MIN, Gate

REMEMBERED_DAYS = 3
"""Earlier days (UTC) whose losses are compared."""

RUNGS = (LastValue.rung, Residual.rung, Daily.rung, LearnedRung.rung)
"""Lowest first."""

_ENOUGH = DAY // STRIDE // 2
"""Origins that both rungs were scored at before a comparison counts: half a day."""


class Ladder:
    """Last value, residual once there are errors to learn from, daily and learned where they won before.

    `daily` takes over a window at the turn of a day, if over the earlier days (three at most) its forecasts,
    made out of sample, had the lower pinball loss at the same origins; it loses the window the same way. So
    does `learned` from the one in use below, each time that it has been trained (`predictor.learning`).

    Args:
        workload: Whose peaks are forecast.
        train: Begins to make a learned rung from a history, `None` = there is to be none.
        gate: Judges whether all this pays and puts a rule in its place while it does not, from when a daily
            pattern may have won on; `None` = nobody judges.
        shelf: Where the model is that many workloads share, `None` = none is.
        drift: Sees whether demand is still like what was learnt from; where it no longer is, a learned rung
            is made at once and not at midnight. `None` = nobody looks.
    """

    def __init__(
        self,
        workload: WorkloadKey,
        train: Train | None = None,
        gate: Gate | None = None,
        shelf: Shelf | None = None,
        drift: DriftWatch | None = None,
    ) -> None:
        self._workload = workload
        self._drift = drift
        self._gate = gate
        self._residual = Residual(workload)
        self._daily = Daily(workload)
        self._learning = Learning(workload, train, shelf) if train is not None else None

    def fit(self, history: WorkSeries) -> Self:
        """Learn from a history, forgetting any other, and return self."""
        track = Track(history.start_s)
        asked_from = len(history.work) - (RECENT_MIN if self._gate is not None else 0)
        self._residual.follow(track, asked_from)
        self._daily.follow(track, asked_from)
        self._highest = -inf
        self._today = np.zeros((len(WIDTHS), 3))
        self._days: deque[Floats] = deque(maxlen=REMEMBERED_DAYS)
        self._is_compared = self._is_daily = [False] * len(WIDTHS)
        if self._learning is not None:
            self._learning.begin(history)
        if self._gate is not None:
            self._gate.begin(history.start_s)
        if self._drift is not None:
            self._drift.begin(history.start_s)
        for work, is_censored in zip(history.work.tolist(), history.is_censored.tolist(), strict=True):
            self._take(work, is_censored=is_censored)
            self._tell_gate(work, is_censored=is_censored)
        if self._gate is not None:
            self._gate.judge()
        if self._drift is not None:
            self._drift.judge()
        return self

    def update(self, work: float, *, is_censored: bool = False) -> None:
        """Take in the next closed bucket (NaN = unknown); `RefusedError` before `fit`."""
        self._take(work, is_censored=is_censored)
        if self._learning is not None:
            first = self._learning.append(work, is_censored=is_censored)
            if first is not None and self._gate is not None:
                self._gate.remember(first.tried(self._gate.window))
        self._tell_gate(work, is_censored=is_censored)
        if self._gate is not None and self._gate.is_to_judge:
            self._gate.judge()
        begins = self._drift is not None and self._drift.is_to_judge and self._drift.judge()
        if begins and self._learning is not None:
            self._learning.hurry()

    def _tell_gate(self, work: float, *, is_censored: bool) -> None:
        gate = self._gate
        if gate is not None:
            gate.append(work, is_censored=is_censored)
            if gate.is_due:
                row = self._row(gate.window)[1] if self._is_compared[gate.window] else None
                residual = self._residual.row(gate.window)
                gate.note(row and row.work, residual and residual.work)

    def _take(self, work: float, *, is_censored: bool) -> None:
        track = self._residual.track
        track.append(work, is_censored=is_censored)
        if self._drift is not None:
            self._drift.append(work, is_censored=is_censored)
        self._highest = max(self._highest, work)  # in this order unknown work changes nothing
        by_residual, by_daily = self._residual.learn(), self._daily.learn()
        for window in by_residual.keys() & by_daily.keys():
            self._today[window] += (by_residual[window], by_daily[window], 1)
        if self._learning is not None:
            for window, loss in by_residual.items():
                below = by_daily.get(window, loss) if self._is_daily[window] else loss
                self._learning.note(window, track.end_s - WINDOWS_S[window], below)
        if (track.end_s // BUCKET_S) % DAY == 0:
            self._judge()

    def peaks(self) -> PeakForecast:
        """Return the peaks of all windows; `RefusedError` while no bucket is known."""
        track = self._residual.track
        rungs, rows = zip(*(self._row(window) for window in range(len(WIDTHS))), strict=True)
        names = [rung for rung in RUNGS if rung in rungs]
        drift = self._drift.drift if self._drift is not None else None
        said = forecast(self._workload, " + ".join(names), track, rows)
        said = replace(said, highest=self._highest, drift=drift)
        return said if self._gate is None else self._gate.passed(said, self._residual.peaks)

    @property
    def rungs(self) -> Mapping[int, str]:
        """The rung in use by window in s."""
        return {window_s: self._row(window)[0] for window, window_s in enumerate(WINDOWS_S)}

    def _row(self, window: int) -> tuple[str, Row | None]:
        """Return the rung and its row; where the daily pattern has a gap the residuals stand in."""
        row = self._learning.row(window) if self._learning is not None else None
        if row is not None:
            return LearnedRung.rung, row
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
        residual, daily, n = np.sum(self._days, axis=0).T
        is_compared = n >= _ENOUGH
        self._is_compared = is_compared.tolist()
        self._is_daily = (is_compared & (daily < residual)).tolist()
