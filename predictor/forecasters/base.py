"""What all forecasters of peaks do alike: take buckets in, learn from closed windows, answer in order."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple, Self

import numpy as np

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.errors import RefusedError
from fleet.workload import WorkloadKey
from predictor.conformal import MEMORY_S
from predictor.ports import BUCKET_S, WorkSeries
from predictor.track import WIDTHS, Track

STRIDE = 5
"""Buckets between the origins that are learnt from; nearer ones share almost all of their windows."""

MEMORY = MEMORY_S // BUCKET_S
"""Buckets for which errors are remembered."""

_GRID = tuple((window_s, quantile) for window_s in WINDOWS_S for quantile in QUANTILES)


class Row(NamedTuple):
    """A forecast of one window.

    Attributes:
        work: At each quantile of `fleet.demand.QUANTILES`.
        uncalibrated: The same before calibration, on the forecaster's own scale; empty where it has none.
    """

    work: Sequence[float]
    uncalibrated: Sequence[float] = ()


class _Opened(NamedTuple):
    """What a forecaster went by, and said, when a window opened; its index in the grid."""

    window: int
    centre: float
    row: Row | None


class WindowForecaster(ABC):
    """Learns from origins: times from which a window has closed by now. A window goes by its grid index.

    At an origin it is noted for each window what the forecast went by (its centre) and what it was; both come
    back together with the peak when that window has closed. So nothing is learnt that has seen its own
    future. Learning is exact at every bucket: `fit` ends where `update` bucket by bucket does. Before the
    first known bucket there is no forecast (`RefusedError`); a window that too little is known about is given
    the last value.
    """

    rung: ClassVar[str]
    """Name in `PeakForecast.rung`."""

    def __init__(self, workload: WorkloadKey) -> None:
        self._workload = workload
        self._track: Track | None = None

    def fit(self, history: WorkSeries) -> Self:
        """Learn from a history, forgetting any other, and return self."""
        self.follow(Track(history.start_s), len(history.work))
        for work, is_censored in zip(history.work.tolist(), history.is_censored.tolist(), strict=True):
            self.update(work, is_censored=is_censored)
        return self

    def update(self, work: float, *, is_censored: bool = False) -> None:
        """Take in the next closed bucket (NaN = unknown); `RefusedError` before `fit`."""
        self.track.append(work, is_censored=is_censored)
        self.learn()

    def peaks(self) -> PeakForecast:
        """Return the peaks of all windows as of the newest bucket; `RefusedError` while none is known."""
        return forecast(self._workload, self.rung, self.track, [self.row(i) for i in range(len(WIDTHS))])

    @property
    def track(self) -> Track:
        """The work that it has seen; `RefusedError` before `fit`."""
        if self._track is None:
            raise RefusedError("no history")
        return self._track

    def follow(self, track: Track, history: int) -> None:
        """Begin anew on an empty track; whoever appends to it calls `learn` each time.

        Args:
            track: Where work is appended.
            history: Buckets that will be appended before the first forecast is asked for. What was forecast
                so early that its outcome is forgotten by then need not be worked out.
        """
        self._track = track
        self._scored_from = history - MEMORY - WIDTHS[-1]
        self._opened: dict[int, list[_Opened]] = {}
        self._start()

    def learn(self) -> Mapping[int, float]:
        """Learn from the windows that the newest bucket closed; return by window the pinball loss of its row.

        The loss is that of the forecast made when the window opened, summed over quantiles.
        """
        track = self.track
        losses = {}
        for window, centre, row in self._opened.pop(track.n, ()):
            origin = track.n - WIDTHS[window]
            if track.is_known(origin - 1, track.n):
                peak = track.highest(window, track.n)
                if row is not None:
                    losses[window] = pinball(peak, row.work)
                is_lower_bound = track.is_censored(origin - 1, track.n)
                self._learn(window, centre, row, peak, is_lower_bound=is_lower_bound)
        if (track.end_s // BUCKET_S) % STRIDE == 0:
            for window in range(len(WIDTHS)):
                self._expire(window, track.n - MEMORY)
                self._open(window)
        return losses

    def row(self, window: int) -> Row | None:
        """Forecast the peak of a window that opens now; `None` where too little is known."""
        centre = self._centre(window)
        return None if math.isnan(centre) else self._row(window, centre)

    def _open(self, window: int) -> None:
        now, centre = self.track.n, self._centre(window)
        if not math.isnan(centre):
            row = self._row(window, centre) if now >= self._scored_from else None
            self._opened.setdefault(now + WIDTHS[window], []).append(_Opened(window, centre, row))

    @abstractmethod
    def _start(self) -> None:
        """Forget everything that was learnt."""

    @abstractmethod
    def _centre(self, window: int) -> float:
        """Return what a forecast of a window that opens now goes by; NaN where there is nothing."""

    @abstractmethod
    def _row(self, window: int, centre: float) -> Row | None:
        """Forecast the peak of a window that opens now; `None` where too little is known."""

    @abstractmethod
    def _learn(
        self, window: int, centre: float, row: Row | None, peak: float, *, is_lower_bound: bool
    ) -> None:
        """Learn from a window that has closed, all its buckets known, and what was noted at its origin."""

    @abstractmethod
    def _expire(self, window: int, before: int) -> None:
        """Forget what became known before a time (in buckets of the track)."""


def forecast(workload: WorkloadKey, rung: str, track: Track, rows: Sequence[Row | None]) -> PeakForecast:
    """Return a forecast out of one row per window; where there is none the last value stands.

    Rows are put in order: a higher quantile, or a longer window that holds a shorter one, has no lower peak.
    """
    if math.isnan(track.last):
        raise RefusedError("no history")
    last = (track.last,) * len(QUANTILES)
    grid = np.array([last if row is None else row.work for row in rows])
    grid = np.maximum.accumulate(np.maximum.accumulate(grid, axis=0), axis=1)
    return PeakForecast(workload, track.end_s, rung, dict(zip(_GRID, grid.ravel().tolist(), strict=True)))


def pinball(actual: float, work: Sequence[float]) -> float:
    """Return the pinball loss summed over the quantiles of a row (Koenker and Bassett, 1978)."""
    return sum(
        quantile * (actual - value) if actual > value else (1 - quantile) * (value - actual)
        for quantile, value in zip(QUANTILES, work, strict=True)
    )
