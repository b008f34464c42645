"""Demand known ahead: what the best forecast could be worth under the delays and limits of everyone."""

from __future__ import annotations

import numpy as np

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from predictor.ports import BUCKET_S, Floats, WorkSeries


class OraclePeaks:
    """Implements `predictor.ports.Forecaster` by looking up what will be offered.

    It knows demand, nothing else: delays, limits and capacities are those of everyone.
    """

    def __init__(self, truth: WorkSeries) -> None:
        self._truth = truth
        self._seen = 0
        # Peaks of the windows that begin with each bucket; the last ones end with what is known.
        self._peaks = {window_s: _peaks(truth.work, window_s // BUCKET_S) for window_s in WINDOWS_S}

    def fit(self, history: WorkSeries) -> OraclePeaks:
        """Note where in time it is, and return self."""
        self._seen = (history.end_s - self._truth.start_s) // BUCKET_S
        return self

    def update(self, work: float, *, is_censored: bool = False) -> None:  # noqa: ARG002  it knows better
        """Go on by one bucket."""
        self._seen += 1

    def peaks(self) -> PeakForecast:
        """Return the peaks that will be, the same at every quantile."""
        return PeakForecast(
            workload=self._truth.workload,
            made_at_s=self._truth.start_s + self._seen * BUCKET_S,
            rung="oracle",
            peaks={
                (window_s, quantile): float(peaks[min(self._seen, len(peaks) - 1)])
                for window_s, peaks in self._peaks.items()
                for quantile in QUANTILES
            },
        )


def _peaks(work: Floats, buckets: int) -> Floats:
    padded = np.concatenate((work, np.full(buckets - 1, -np.inf)))
    peaks: Floats = np.lib.stride_tricks.sliding_window_view(padded, buckets).max(axis=1)
    return peaks
