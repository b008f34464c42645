"""The last value, for ever: what is left when nothing else is known."""

from __future__ import annotations

from predictor.forecasters.base import Row, WindowForecaster


class LastValue(WindowForecaster):
    """Holds the newest known work as the peak of every window, at every quantile: no uncertainty claimed."""

    rung = "last value"

    def _start(self) -> None:
        """Nothing is learnt."""

    def _centre(self, window: int) -> float:  # noqa: ARG002 - all windows are alike
        return self.track.last

    def _row(self, window: int, centre: float) -> Row | None:
        """Leave every window to the last value."""

    def _learn(
        self, window: int, centre: float, row: Row | None, peak: float, *, is_lower_bound: bool
    ) -> None:
        """Nothing is learnt."""

    def _expire(self, window: int, before: int) -> None:
        """Nothing is kept."""
