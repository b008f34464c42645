"""A forecaster and an estimator of your own: one file, copied beside foreslice (see Dockerfile)."""

from collections import deque

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import QuantileRegressor
from statsmodels.tsa.holtwinters import Holt

from foreslice import PeakForecast, RefusedError, WorkloadKey, WorkSeries

MINUTE_S = 60
WINDOWS_S = (120, 300, 900, 1800, 3600, 21600)
QUANTILES = (0.90, 0.925, 0.95, 0.97, 0.99)
LEAST = 60
"""Minutes before anything is smoothed."""


class DampedTrend:
    """Damped-trend smoothing by statsmodels of the last hours, and how far peaks rose above it there.

    It keeps foreslice's contract of forecasters: what it says depends on the minutes that it has seen and on
    nothing else, so that `fit` ends where `update` minute by minute does.
    """

    def __init__(
        self, workload: WorkloadKey, *, hours: int = 4, level: float = 0.3, trend: float = 0.02
    ) -> None:
        self.workload = workload
        self.minutes = 60 * hours
        self.smoothing = {"smoothing_level": level, "smoothing_trend": trend, "damping_trend": 0.95}
        self.end_s: int | None = None

    def fit(self, history: WorkSeries) -> "DampedTrend":
        """Learn from a history, forgetting any other."""
        self.end_s = history.start_s
        self.work: deque[float] = deque(maxlen=self.minutes)
        for work in history.work:
            self.update(float(work))
        return self

    def update(self, work: float, *, is_censored: bool = False) -> None:  # noqa: ARG002 -- a bound counts as it is
        """Take in the next minute; an unknown one (NaN) is as the one before."""
        if self.end_s is None:
            raise RefusedError("no history")
        self.end_s += MINUTE_S
        if np.isfinite(work):
            self.work.append(work)
        elif self.work:
            self.work.append(self.work[-1])

    def peaks(self) -> PeakForecast:
        """Return peaks over every window, at every quantile."""
        if self.end_s is None or not self.work:
            raise RefusedError("no history")
        work = np.array(self.work)
        grid = np.full((len(WINDOWS_S), len(QUANTILES)), work[-1])
        if len(work) >= LEAST and np.ptp(work) > 0:
            grid = self._smoothed(work)
        names = [(window_s, quantile) for window_s in WINDOWS_S for quantile in QUANTILES]
        return PeakForecast(
            self.workload, self.end_s, "damped trend", dict(zip(names, grid.ravel(), strict=True))
        )

    def _smoothed(self, work: np.ndarray) -> np.ndarray:
        model = Holt(
            work, damped_trend=True, initialization_method="known", initial_level=work[0], initial_trend=0.0
        )
        found = model.fit(**self.smoothing, optimized=False)
        here, rows, rises = float(found.forecast(1)[0]), [], np.zeros(1)
        for window_s in WINDOWS_S:
            width = window_s // MINUTE_S
            if (
                len(work) > width + LEAST // 2
            ):  # what rose above the smoothed line in windows that have closed
                highest = np.lib.stride_tricks.sliding_window_view(work, width).max(axis=1)
                rises = highest - found.fittedvalues[: len(highest)]
            rows.append(here + np.quantile(rises, QUANTILES))
        return np.maximum(np.maximum.accumulate(rows, axis=0), 0.0)


class LinearQuantile(RegressorMixin, BaseEstimator):
    """Linear quantile regression on foreslice's features; what is unknown (NaN) counts as 0.

    What it has learnt is an array and a number, so that it can be stored and read back without unpickling.
    """

    def __init__(self, quantile: float = 0.5, *, alpha: float = 0.001, rows: int = 2000) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.rows = rows

    def fit(self, X: np.ndarray, y: np.ndarray) -> "LinearQuantile":  # noqa: N803 -- scikit-learn's name
        """Learn from evenly chosen rows."""
        every = max(1, len(X) // self.rows)
        model = QuantileRegressor(quantile=self.quantile, alpha=self.alpha)
        model.fit(np.nan_to_num(X[::every]), y[::every])
        self.coef_, self.intercept_ = model.coef_, float(model.intercept_)
        return self

    def predict(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
        """Return the quantile for each row."""
        return np.nan_to_num(X) @ self.coef_ + self.intercept_
