"""k x the maximum of the last hour: the best rule without a forecast, and the one to fall back to."""

from __future__ import annotations

import math

from fleet.demand import QUANTILES, WINDOWS_S
from predictor.conformal import Recent
from predictor.forecasters.base import Row, WindowForecaster
from predictor.track import WIDTHS

HELD_S = 3600
"""How far back the maximum is taken."""


class Hold(WindowForecaster[float]):
    """Multiplies the maximum of the last hour by the smallest k that covered the quantile of past windows.

    k is 1 before a window has closed. It is tuned per window and quantile, on what is past at each bucket.
    """

    rung = "hold"

    def row(self, window: int) -> Row | None:
        """Forecast the peak of a window that opens now."""
        held = self._note(window)
        if math.isnan(held):
            return None
        ratios = self._ratios[window]
        factors = ratios.quantiles(QUANTILES) if len(ratios) else [1.0] * len(QUANTILES)
        return [held * factor for factor in factors]

    def _start(self) -> None:
        self._ratios = [Recent() for _ in WIDTHS]

    def _note(self, window: int) -> float:  # noqa: ARG002 - all windows start from the same hour
        return self.track.highest(WINDOWS_S.index(HELD_S), self.track.n)

    def _learn(self, window: int, note: float, peak: float, *, is_lower_bound: bool) -> None:
        """A window after an hour of nothing teaches nothing: no k covers it, or any does."""
        if note > 0:
            self._ratios[window].add(self.track.n, peak / note, is_lower_bound=is_lower_bound)

    def _expire(self, window: int, before: int) -> None:
        self._ratios[window].expire(before)
