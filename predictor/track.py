"""The recent work of one workload, and how high it went in the windows that ended with each bucket."""

from __future__ import annotations

import math
from collections import deque

from fleet.demand import WINDOWS_S
from predictor.ports import BUCKET_S

WIDTHS = tuple(window_s // BUCKET_S for window_s in WINDOWS_S)
"""Windows of the forecast grid in buckets."""

DAY = 86_400 // BUCKET_S
"""Buckets in a day."""

LEVEL = 5
"""Buckets that say where work stands now: the count of one minute is mostly noise (on eight public traces the
q .95 pinball loss of residuals from it is 15 to 33 % higher for peaks of the next 2 to 30 min)."""

_KEPT = 4 * DAY
"""Past that stays readable: three days back and the longest window."""


class Track:
    """Counts buckets in, and knows after each the maximum over every window of the grid.

    Time is counted in buckets seen: at time n the newest bucket is n - 1 and a window of width k has held
    the buckets n - k to n - 1. The peak of the window *ahead* of time t is thus that of the window behind
    time t + k, once that is reached: nothing here can look ahead.
    """

    def __init__(self, start_s: int) -> None:
        self.start_s = start_s
        self.n = 0
        self.last = math.nan
        self._level: deque[float] = deque(maxlen=LEVEL)
        self._offset = 0
        self._highest: list[list[float]] = [[math.nan] for _ in WIDTHS]
        self._candidates: list[deque[tuple[int, float]]] = [deque() for _ in WIDTHS]
        self._last_unknown = [-1]
        self._last_censored = [-1]

    @property
    def end_s(self) -> int:
        """End of the newest bucket, seconds since the epoch."""
        return self.start_s + BUCKET_S * self.n

    @property
    def level(self) -> float:
        """Mean of the last `LEVEL` known buckets, NaN while there is none."""
        return sum(self._level) / len(self._level) if self._level else math.nan

    def append(self, work: float, *, is_censored: bool) -> None:
        """Take in the next bucket; NaN = unknown."""
        bucket, self.n = self.n, self.n + 1
        is_unknown = math.isnan(work)
        if not is_unknown:
            self.last = work
            self._level.append(work)
        for width, candidates, highest in zip(WIDTHS, self._candidates, self._highest, strict=True):
            if not is_unknown:
                while candidates and candidates[-1][1] <= work:
                    candidates.pop()
                candidates.append((bucket, work))
            while candidates and candidates[0][0] <= bucket - width:
                candidates.popleft()
            highest.append(candidates[0][1] if candidates else math.nan)
        self._last_unknown.append(bucket if is_unknown else self._last_unknown[-1])
        self._last_censored.append(bucket if is_censored else self._last_censored[-1])
        if len(self._last_unknown) > 2 * _KEPT:
            self._forget()

    def highest(self, window: int, at: int) -> float:
        """Return the highest known work in the window behind time `at`, NaN where none is known.

        Args:
            window: Index in `fleet.demand.WINDOWS_S`.
            at: Time in buckets, `n` at most.
        """
        position = at - self._offset
        return self._highest[window][position] if position >= 0 else math.nan

    def is_known(self, since: int, at: int) -> bool:
        """Whether every bucket from `since` up to time `at` is known."""
        position = at - self._offset
        return since >= 0 and position >= 0 and self._last_unknown[position] < since

    def is_censored(self, since: int, at: int) -> bool:
        """Whether some bucket from `since` up to time `at` is a lower bound."""
        position = at - self._offset
        return position >= 0 and self._last_censored[position] >= since

    def _forget(self) -> None:
        for highest in self._highest:
            del highest[:_KEPT]
        del self._last_unknown[:_KEPT], self._last_censored[:_KEPT]
        self._offset += _KEPT
