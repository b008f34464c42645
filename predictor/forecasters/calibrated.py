"""From a centre to calibrated quantiles: the errors that the centre made lately, then conformal offsets."""

from __future__ import annotations

import math

from predictor.conformal import ENOUGH, Offsets, Recent
from predictor.forecasters.base import Row, WindowForecaster
from predictor.track import WIDTHS


class Calibrated(WindowForecaster):
    """Adds error quantiles to a centre, and the rolling conformal offset of each window and quantile.

    All three live on a square-root scale, on which the spread of counts does not depend on their level
    (Bartlett, 1936). Errors of the last five days at most are used.
    """

    def _start(self) -> None:
        self._errors = [Recent() for _ in WIDTHS]
        self._offsets = [Offsets() for _ in WIDTHS]
        self._spreads: list[tuple[list[float], list[float]] | None] = [None] * len(WIDTHS)

    def _row(self, window: int, centre: float) -> Row | None:
        if len(self._errors[window]) < ENOUGH:
            return None
        errors, shifts = self._spread(window)
        roots = [centre + error for error in errors]
        return Row([max(root + shift, 0.0) ** 2 for root, shift in zip(roots, shifts, strict=True)], roots)

    def _learn(
        self, window: int, centre: float, row: Row | None, peak: float, *, is_lower_bound: bool
    ) -> None:
        now, root = self.track.n, math.sqrt(peak)
        self._errors[window].add(now, (root - centre,), is_lower_bound=is_lower_bound)
        if row is not None:
            self._offsets[window].add(now, root, row.uncalibrated, is_lower_bound=is_lower_bound)
        self._spreads[window] = None

    def _expire(self, window: int, before: int) -> None:
        self._errors[window].expire(before)
        self._offsets[window].expire(before)
        self._spreads[window] = None

    def _spread(self, window: int) -> tuple[list[float], list[float]]:
        """Return the error quantiles and their offsets, which are capped at median to highest quantile."""
        spread = self._spreads[window]
        if spread is None:
            errors = self._errors[window].ordered()
            quantiles = self._errors[window].quantiles()
            spread = quantiles, self._offsets[window].shifts(cap=quantiles[-1] - errors[len(errors) // 2])
            self._spreads[window] = spread
        return spread
