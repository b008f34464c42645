"""From a centre to calibrated quantiles: the errors that the centre made lately, then conformal offsets."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import NamedTuple

from fleet.demand import QUANTILES
from predictor.conformal import Offsets, Recent
from predictor.forecasters.base import ENOUGH, Row, WindowForecaster
from predictor.track import WIDTHS

MEDIAN = 0.5


class Centred(NamedTuple):
    """What was forecast at an origin, on the square-root scale.

    Attributes:
        centre: Where errors are measured from; NaN where there was nothing to go by.
        quantiles: Centre plus error quantiles, before the offset; `None` before there were enough.
    """

    centre: float
    quantiles: list[float] | None


class Calibrated(WindowForecaster[Centred]):
    """Adds error quantiles to a centre, and the rolling conformal offset of each window and quantile.

    Both live on a square-root scale, on which the spread of counts does not depend on their level
    (Bartlett, 1936). Errors of the last five days at most are used.
    """

    def row(self, window: int) -> Row | None:
        """Forecast the peak of a window that opens now."""
        quantiles = self._note(window).quantiles
        if quantiles is None:
            return None
        shifts = self._spread(window)[1]
        return [max(value + shift, 0.0) ** 2 for value, shift in zip(quantiles, shifts, strict=True)]

    @abstractmethod
    def _centre(self, window: int) -> float:
        """Return where errors of a window that opens now are measured from; NaN where there is nothing."""

    def _start(self) -> None:
        self._errors = [Recent() for _ in WIDTHS]
        self._offsets = [Offsets() for _ in WIDTHS]
        self._spreads: list[tuple[list[float], list[float]] | None] = [None] * len(WIDTHS)

    def _note(self, window: int) -> Centred:
        centre = self._centre(window)
        if math.isnan(centre) or len(self._errors[window]) < ENOUGH:
            return Centred(centre, None)
        return Centred(centre, [centre + error for error in self._spread(window)[0]])

    def _learn(self, window: int, note: Centred, peak: float, *, is_lower_bound: bool) -> None:
        if math.isnan(note.centre):
            return
        now, root = self.track.n, math.sqrt(peak)
        self._errors[window].add(now, root - note.centre, is_lower_bound=is_lower_bound)
        if note.quantiles is not None:
            self._offsets[window].add(now, root, note.quantiles, is_lower_bound=is_lower_bound)
        self._spreads[window] = None

    def _expire(self, window: int, before: int) -> None:
        self._errors[window].expire(before)
        self._offsets[window].expire(before)
        self._spreads[window] = None

    def _spread(self, window: int) -> tuple[list[float], list[float]]:
        """Return error quantiles and their offsets; an offset is capped at the spread of the errors."""
        spread = self._spreads[window]
        if spread is None:
            median, *errors = self._errors[window].quantiles((MEDIAN, *QUANTILES))
            spread = errors, self._offsets[window].shifts(cap=errors[-1] - median)
            self._spreads[window] = spread
        return spread
