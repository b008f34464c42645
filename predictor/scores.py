"""How good forecasts of peaks were: scaled pinball loss and coverage."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import mean_pinball_loss

from predictor.ports import BUCKET_S, Floats


def forward_peaks(work: Floats, window_s: int) -> Floats:
    """Return the peak of the window that opens with each bucket, shape as `work`; NaN where unknown."""
    width = window_s // BUCKET_S
    peaks = np.full(len(work), np.nan)
    if len(work) >= width:
        windows = np.lib.stride_tricks.sliding_window_view(work, width)
        peaks[: len(windows)] = windows.max(axis=1)
    return peaks


def scaled_pinball(actual: Floats, forecast: Floats, quantile: float) -> float:
    """Return the mean pinball loss divided by the mean of what came, over the pairs that are known."""
    is_known = np.isfinite(actual) & np.isfinite(forecast)
    loss = mean_pinball_loss(actual[is_known], forecast[is_known], alpha=quantile)
    return float(loss / actual[is_known].mean())


def coverage(actual: Floats, forecast: Floats) -> float:
    """Return the share of peaks at or below their forecast, over the pairs that are known."""
    is_known = np.isfinite(actual) & np.isfinite(forecast)
    return float(np.mean(actual[is_known] <= forecast[is_known]))
