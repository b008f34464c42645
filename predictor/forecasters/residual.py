"""Where work stands plus what the peak lately rose above it: the bar for every other rung."""

from __future__ import annotations

import math

from predictor.forecasters.calibrated import Calibrated


class Residual(Calibrated):
    """Centres every window on the mean of the last five minutes."""

    rung = "residual"

    def _centre(self, window: int) -> float:  # noqa: ARG002 - all windows start from now
        return math.sqrt(self.track.level)
