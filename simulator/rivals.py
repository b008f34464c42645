"""What a run is compared with, where it is not foreslice: capacity that never moves, demand known ahead."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from capacity.estimate import CapacityModel
from fleet.demand import QUANTILES, WINDOWS_S, Mix, PeakForecast
from fleet.errors import RefusedError
from fleet.workload import Workload
from predictor.ports import BUCKET_S, Floats, WorkSeries

STATIC_QUANTILE = 0.999
"""Share of past minutes that a fleet which never scales is sized for."""


def static_replicas(workload: Workload, capacity: CapacityModel, work: Floats, mixes: Sequence[Mix]) -> int:
    """Return the whole GPUs that carry all but the highest 0.1 % of past work (by minute, NaN = unknown).

    Sized by the same lower bounds as everything else, at the tightest of `mixes`. `RefusedError` where one
    replica cannot keep the SLO however little it has to do.
    """
    one = capacity.capacity(workload, capacity.reference(workload), mixes)
    if one is None or not one.work_low:
        raise RefusedError(f"{workload.key}: a whole GPU does not keep the SLO")
    return max(1, math.ceil(float(np.nanquantile(work, STATIC_QUANTILE)) / one.work_low))


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
