"""The last value, for ever: what is left when nothing else is known."""

from __future__ import annotations

from predictor.forecasters.base import Row, WindowForecaster


class LastValue(WindowForecaster[None]):
    """Holds the newest known work as the peak of every window, at every quantile: no uncertainty claimed."""

    rung = "last value"

    def row(self, window: int) -> Row | None:  # noqa: ARG002 - all windows are alike
        """Leave every window to the last value."""
        return None

    def _start(self) -> None:
        """Nothing is learnt."""

    def _note(self, window: int) -> None:
        """Nothing has to be known again."""

    def _learn(self, window: int, note: None, peak: float, *, is_lower_bound: bool) -> None:
        """Nothing is learnt."""

    def _expire(self, window: int, before: int) -> None:
        """Nothing is kept."""
