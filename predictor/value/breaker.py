"""Whether forecasts went wrong in the last hours: long before that shows in what they are worth over days."""

from __future__ import annotations

import math

import numpy as np
from sklearn.metrics import mean_pinball_loss

from predictor.ports import Floats

LATELY_H = 6
"""Windows that closed within these hours are compared by loss."""

COVERED_H = 24
"""And within these by coverage: a quantile is not met too rarely to tell in less."""

OPENS, CLOSES = 1.5, 1.0
"""Times the baseline's loss at which it opens, and down to which it closes again."""

_SURE = 3.0
"""Standard deviations that coverage has to be below the quantile."""

_ROUND_OFF = 1e-9


class Breaker:
    """Opens when forecasts of one window cost much more than the baseline, or cover too little, and closes.

    Args:
        per_hour: Origins in an hour.
        width: Origins in a window: forecasts that near share demand.
    """

    def __init__(self, per_hour: int, width: int) -> None:
        self._per_hour = per_hour
        self._width = width
        self._is_open = False

    def trip(self, quantile: float, came: Floats, said: Floats, baseline: Floats) -> str:
        """Take in what came and was said at the newest origins, and return why it is open, "" = it is not.

        With less than half the hours known nothing changes.

        Args:
            quantile: That is looked at.
            came: Peak by origin, oldest first; NaN = not known.
            said: The forecast of it; NaN = none.
            baseline: What the rung says that every other one has to beat.
        """
        is_known = np.isfinite(came) & np.isfinite(said) & np.isfinite(baseline)
        lately = np.flatnonzero(is_known)
        hours = lately[lately >= len(came) - LATELY_H * self._per_hour]
        day = lately[lately >= len(came) - COVERED_H * self._per_hour]
        if 2 * len(hours) < LATELY_H * self._per_hour:
            return "forecasts are still held back" if self._is_open else ""
        loss, bar = (mean_pinball_loss(came[hours], of[hours], alpha=quantile) for of in (said, baseline))
        limit = (CLOSES if self._is_open else OPENS) * bar + _ROUND_OFF * float(came[hours].mean())
        apart = max(1.0, len(day) / self._width)
        least = quantile - _SURE * math.sqrt(quantile * (1 - quantile) / apart)
        covered = float((came[day] <= said[day] * (1 + _ROUND_OFF)).mean())
        reasons = []
        if loss > limit:
            reasons.append(f"cost {loss / bar:.1f} times what last + residual did over the last {LATELY_H} h")
        if covered < least:
            reasons.append(f"held in {covered:.0%} of the last {COVERED_H} h, {least:.0%} is the least")
        self._is_open = bool(reasons)
        return f"forecasts {' and '.join(reasons)}" if reasons else ""
