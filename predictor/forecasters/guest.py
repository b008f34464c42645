"""A forecaster of another library as the top rung of the ladder: judged as our own, and used where it won."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from fleet.demand import QUANTILES, WINDOWS_S, PeakForecast
from predictor.forecasters.base import STRIDE, Row, pinball
from predictor.forecasters.learned import HELD_OUT_S, LEARNED, Below, has_won
from predictor.learned import LEAST_S
from predictor.ports import BUCKET_S, Forecaster, WorkSeries
from predictor.recipe import Guest
from predictor.shared import Shelf
from predictor.track import WIDTHS, Track

_Said = TypeVar("_Said")


class GuestRung:
    """Forecasts of the windows that a guest has won.

    A first one, which had not seen the last two days, cost less there than the rung below: the pinball loss,
    summed over quantiles, of what it said as windows opened. Whatever it does wrong later (an error, a peak
    that is no number) leaves the windows to the rung below.
    """

    def __init__(self, forecaster: Forecaster, windows: frozenset[int]) -> None:
        self._forecaster = forecaster
        self._windows = windows

    @classmethod
    def trained(cls, history: WorkSeries, below: Below, guest: Guest) -> GuestRung | None:
        """Return a rung that has learnt from a history, `None` where that is too short or no window is won.

        Args:
            history: Minutes of work.
            below: What the rung below lost: by window of the grid and by when it opened, seconds since the
                epoch.
            guest: How the forecaster is made, and of which windows in `LEARNED`.
        """
        held_out = len(history.work) - HELD_OUT_S // BUCKET_S
        if held_out < LEAST_S // BUCKET_S:
            return None
        windows = [window for window in LEARNED if WINDOWS_S[window] in guest.windows_s]
        losses = _losses(guest.make(history.workload), history, held_out, windows)
        won = frozenset(window for window in windows if has_won(losses[window], below.get(window, {})))
        return cls(guest.make(history.workload).fit(history), won) if won else None

    def update(self, work: float, *, is_censored: bool) -> None:
        """Take in the next minute (NaN = unknown)."""
        if self._windows:
            self._unless_it_fails(lambda: self._forecaster.update(work, is_censored=is_censored))

    def tried(self, window: int) -> Sequence[tuple[int, Sequence[float]]]:  # noqa: ARG002 -- of none
        """Return nothing: a guest does not keep what it said while it was tried."""
        return ()

    def share(self, shelf: Shelf) -> None:
        """Go on: a guest shares nothing."""

    def row(self, window: int) -> Row | None:
        """Return the forecast of a window of the grid, `None` where this rung has none."""
        if window not in self._windows:
            return None
        said = self._unless_it_fails(self._forecaster.peaks)
        return _row(said, window) if said is not None else None

    def _unless_it_fails(self, ask: Callable[[], _Said]) -> _Said | None:
        try:
            return ask()
        except Exception:  # noqa: BLE001 -- the code of others may fail anywhere
            self._windows = frozenset()
            return None


def _losses(
    forecaster: Forecaster, history: WorkSeries, held_out: int, windows: list[int]
) -> Mapping[int, Mapping[int, float]]:
    """Return by window, and by when it opened, what a forecaster lost that saw each minute as it came."""
    work, censored = history.work.tolist(), history.is_censored.tolist()
    known = WorkSeries(
        history.workload, history.start_s, history.work[:held_out], history.is_censored[:held_out]
    )
    forecaster.fit(known)
    track, opened = Track(history.start_s), dict[tuple[int, int], Row]()
    losses: dict[int, dict[int, float]] = {window: {} for window in windows}
    for n, (value, is_censored) in enumerate(zip(work, censored, strict=True), start=1):
        track.append(value, is_censored=is_censored)
        if n > held_out:
            forecaster.update(value, is_censored=is_censored)
        for window in windows:
            origin = n - WIDTHS[window]
            row = opened.pop((window, origin), None)
            if row is not None and track.is_known(origin, n):
                at_s = history.start_s + origin * BUCKET_S
                losses[window][at_s] = pinball(track.highest(window, n), row.work)
        if n >= held_out and (track.end_s // BUCKET_S) % STRIDE == 0:
            said = forecaster.peaks()
            for window in windows:
                if (row := _row(said, window)) is not None:
                    opened[window, n] = row
    return losses


def _row(said: PeakForecast, window: int) -> Row | None:
    work = [said.peak(WINDOWS_S[window], quantile) for quantile in QUANTILES]
    return Row(work) if all(0 <= one < math.inf for one in work) else None
