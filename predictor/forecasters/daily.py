"""The same window on the days before: for demand that keeps a daily pattern."""

from __future__ import annotations

import math

from predictor.forecasters.calibrated import Calibrated
from predictor.track import DAY, WIDTHS

DAYS = 3
"""Days that are looked back on."""


class Daily(Calibrated):
    """Centres a window on the mean peak (of square roots) of that window on up to three days before."""

    rung = "daily"

    def _centre(self, window: int) -> float:
        track, width = self.track, WIDTHS[window]
        roots = []
        for day in range(1, DAYS + 1):
            start = track.n - day * DAY
            end = start + width
            if track.is_known(start, end) and not track.is_censored(start, end):
                roots.append(math.sqrt(track.highest(window, end)))
        return sum(roots) / len(roots) if roots else math.nan
