"""What all forecasters of peaks do alike: take buckets in, learn from closed windows, answer in order."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping, Sequence
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from fleet.errors import RefusedError
from fleet.workload import WorkloadKey
from predictor.ports import BUCKET_S, WorkSeries
from predictor.track import DAY, WIDTHS, Track

STRIDE = 5
"""Buckets between the origins that are learnt from; nearer ones share almost all of their windows."""

MEMORY = 5 * DAY
"""Buckets for which errors are remembered: 3 to 5 days did best on ten public traces."""

ENOUGH = 50
"""Errors that a quantile of them is taken from at least."""

Row = Sequence[float]
"""Work at each quantile of `fleet.demand.QUANTILES`, for one window."""

Note = TypeVar("Note")

_GRID = tuple((window_s, quantile) for window_s in WINDOWS_S for quantile in QUANTILES)


class WindowForecaster(ABC, Generic[Note]):
    """Learns from origins: times from which a window has closed by now. A window goes by its grid index.

    At an origin a forecaster writes a note for each window that opens; it gets the note back together with
    the peak when that window has closed. So nothing it learns from has seen its own future. Learning is
    exact at every bucket: `fit` is `update` bucket by bucket. Before the first known bucket there is no
    forecast (`RefusedError`); a window that nothing is known about yet is given the last value.
    """

    rung: ClassVar[str]
    """Name in `PeakForecast.rung`."""

    def __init__(self, workload: WorkloadKey) -> None:
        self._workload = workload
        self._track: Track | None = None

    def fit(self, history: WorkSeries) -> Self:
        """Learn from a history, forgetting any other, and return self."""
        self.follow(Track(history.start_s))
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

    def follow(self, track: Track) -> None:
        """Begin anew on a track that is still empty; whoever appends to it calls `learn` each time."""
        self._track = track
        self._pending: list[deque[tuple[int, Row | None, Note]]] = [deque() for _ in WIDTHS]
        self._start()

    def learn(self) -> Mapping[int, float]:
        """Learn from the windows that the newest bucket closed; return by window the pinball loss of its row.

        The loss is that of the forecast made when the window opened, summed over quantiles.
        """
        track, losses = self.track, {}
        for window, width in enumerate(WIDTHS):
            pending = self._pending[window]
            if not pending or pending[0][0] + width > track.n:
                continue
            origin, row, note = pending.popleft()
            if track.is_known(origin - 1, track.n):
                peak = track.highest(window, track.n)
                if row is not None:
                    losses[window] = pinball(peak, row)
                self._learn(window, note, peak, is_lower_bound=track.is_censored(origin - 1, track.n))
        if track.n and (track.end_s // BUCKET_S) % STRIDE == 0:
            for window, pending in enumerate(self._pending):
                self._expire(window, track.n - MEMORY)
                pending.append((track.n, self.row(window), self._note(window)))
        return losses

    @abstractmethod
    def row(self, window: int) -> Row | None:
        """Forecast the peak of a window that opens now; `None` where too little is known."""

    @abstractmethod
    def _start(self) -> None:
        """Forget everything that was learnt."""

    @abstractmethod
    def _note(self, window: int) -> Note:
        """Write down what has to be known again when the window that opens now has closed."""

    @abstractmethod
    def _learn(self, window: int, note: Note, peak: float, *, is_lower_bound: bool) -> None:
        """Learn from a window that has closed, all its buckets known."""

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
    grid = np.array([last if row is None else row for row in rows])
    grid = np.maximum.accumulate(np.maximum.accumulate(grid, axis=0), axis=1)
    return PeakForecast(workload, track.end_s, rung, dict(zip(_GRID, grid.ravel().tolist(), strict=True)))


def pinball(actual: float, row: Row) -> float:
    """Return the pinball loss summed over the quantiles of a row (Koenker and Bassett, 1978)."""
    return sum(
        quantile * (actual - value) if actual > value else (1 - quantile) * (value - actual)
        for quantile, value in zip(QUANTILES, row, strict=True)
    )
