"""k x the maximum of the last hour: the best rule without a forecast, and the one to fall back to."""

from __future__ import annotations

from fleet.demand import QUANTILES, WINDOWS_S
from predictor.conformal import Recent
from predictor.forecasters.base import Row, WindowForecaster
from predictor.track import WIDTHS

HELD_S = 3600
"""How far back the maximum is taken."""

NOTHING = 1e-6
"""Work (in replicas) below which there was none worth multiplying."""


class Hold(WindowForecaster):
    """Multiplies the maximum of the last hour by the smallest k that covered the quantile of past windows.

    k is 1 before a window has closed. It is tuned per window and quantile, on what is past at each bucket.
    """

    rung = "hold"

    def _start(self) -> None:
        self._ratios = [Recent() for _ in WIDTHS]

    def _centre(self, window: int) -> float:  # noqa: ARG002 - all windows start from the same hour
        return self.track.highest(WINDOWS_S.index(HELD_S), self.track.n)

    def _row(self, window: int, centre: float) -> Row | None:
        ratios = self._ratios[window]
        factors = ratios.quantiles() if len(ratios) else [1.0] * len(QUANTILES)
        return Row([centre * factor for factor in factors])

    def _learn(
        self,
        window: int,
        centre: float,
        row: Row | None,  # noqa: ARG002 - k is tuned on what came, not on what was said
        peak: float,
        *,
        is_lower_bound: bool,
    ) -> None:
        """A window after an hour of nothing teaches nothing: no k covers it, or any does."""
        if centre > NOTHING:
            self._ratios[window].add(self.track.n, (peak / centre,), is_lower_bound=is_lower_bound)

    def _expire(self, window: int, before: int) -> None:
        self._ratios[window].expire(before)
