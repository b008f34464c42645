"""One raw series as it was scraped, and what it says inside minute buckets and right now."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fleet.sample import Reason, Sample, Unknown, Value
from predictor.ports import BUCKET_S, Floats

STALE_S = 300.0
"""A reading older than this says nothing about now: Prometheus' look-back (docs/querying/basics.md)."""

WINDOW_S = 60.0
"""Window over which a counter's increase up to now is taken."""

_SPAN_S = 1.5 * BUCKET_S
"""Readings further apart than this do not tell what happened inside one bucket: a scrape was missed."""


ABSENT, _STALE = Unknown(Reason.ABSENT), Unknown(Reason.STALE)
_TOO_FEW, _NAN = Unknown(Reason.TOO_FEW), Unknown(Reason.NOT_A_NUMBER)


def is_readable(value: float) -> bool:
    """Whether an engine can have meant it: all that is read counts, sums or shares."""
    return 0.0 <= value < math.inf


class Series:
    """Readings of one counter or gauge in the order of time; appending is cheap, so is asking for the newest.

    Buckets and windows are left-open as in Prometheus 3 (docs/migration.md): a reading at the very end of a
    bucket closes it. Between the last readings of consecutive buckets nothing is lost or counted twice.
    """

    __slots__ = ("_last_raw", "_levels", "_settled", "_times", "is_counter")

    def __init__(self, *, is_counter: bool) -> None:
        self.is_counter = is_counter
        self._times = array("d")
        self._levels = array("d")
        self._settled = 0
        self._last_raw = math.nan

    def append(self, t_s: float, value: float) -> None:
        """Add the next reading; `ValueError` when it is not newer than the last one.

        A counter is kept as its growth since the first reading: where it falls its process started anew,
        and all that it shows has happened since. NaN is no reading of a counter; for a gauge it is one, of
        something unknown. So is what no engine can mean: all that is read here counts or sums, so that
        infinity and what is below zero tell of a broken exporter, and nothing of demand.
        """
        if not is_readable(value):
            value = math.nan
        if self._times and t_s <= self._times[-1]:
            raise ValueError(f"reading at {t_s} s after one at {self._times[-1]} s")
        if self.is_counter:
            if math.isnan(value):
                return
            growth = self._levels[-1] if self._levels else 0.0
            if value >= self._last_raw:
                growth += value - self._last_raw
            elif self._levels:
                growth += value
            self._last_raw, value = value, growth
        self._times.append(t_s)
        self._levels.append(value)

    def extend(self, times: ArrayLike, values: ArrayLike) -> None:
        """Add many readings at once, the same as `append` one by one; times must rise."""
        t = np.asarray(times, dtype=np.float64)
        v = np.asarray(values, dtype=np.float64)
        v = np.where((v >= 0.0) & (v < math.inf), v, math.nan)
        if np.any(np.diff(t) <= 0) or (self._times and t.size and t[0] <= self._times[-1]):
            raise ValueError("times of readings do not rise")
        if self.is_counter:
            t, v = t[~np.isnan(v)], v[~np.isnan(v)]
            if not t.size:
                return
            before = self._last_raw if self._times else v[0]
            steps = np.diff(v, prepend=before)
            grown = np.where(steps < 0, v, steps)
            grown[0] += self._levels[-1] if self._levels else 0.0
            self._last_raw, v = float(v[-1]), grown.cumsum()
        self._times.frombytes(t.tobytes())
        self._levels.frombytes(v.tobytes())

    def settle(self, until_s: float) -> None:
        """Keep of the readings up to then the first, and the last in each bucket.

        Buckets are made of those alone; `last` and `increase` are not to be asked for such a time any more.
        """
        begin, end = max(0, self._settled - 1), bisect_right(self._times, until_s)
        if begin >= end:
            return
        closes = np.ceil(np.array(self._times[begin : end + 1]) / BUCKET_S)
        is_kept = np.diff(closes, append=np.inf)[: end - begin] > 0
        is_kept[0] |= begin == 0
        for readings in (self._times, self._levels):
            readings[begin:end] = array("d", np.array(readings[begin:end])[is_kept].tobytes())
        self._settled = begin + int(is_kept.sum())

    def forget(self, before_s: float) -> None:
        """Drop the readings before a time."""
        end = bisect_left(self._times, before_s)
        del self._times[:end], self._levels[:end]
        self._settled = max(0, self._settled - end)

    @property
    def growth(self) -> float:
        """How much a counter has grown since its first reading that is kept, over restarts."""
        return self._levels[-1] - self._levels[0] if self._levels else 0.0

    @property
    def first_s(self) -> float:
        """Time of the first reading that is kept, infinite when there is none."""
        return self._times[0] if self._times else math.inf

    def newest_s(self, at_s: float) -> float:
        """Return the time of the newest reading at `at_s`, minus infinity when there is none."""
        end = self._until(at_s)
        return self._times[end - 1] if end else -math.inf

    @property
    def newest(self) -> Callable[[float], Sample]:
        """How it is asked for what it says at a time: a counter's increase, a gauge's newest reading."""
        return self.increase if self.is_counter else self.last

    def last(self, at_s: float) -> Sample:
        """Return the newest reading of a gauge at `at_s`."""
        end = self._until(at_s)
        if not end:
            return ABSENT
        if self._times[end - 1] < at_s - STALE_S:
            return _STALE
        level = self._levels[end - 1]
        return _NAN if math.isnan(level) else Value(level)

    def increase(self, at_s: float) -> Sample:
        """Return how much a counter grew in the `WINDOW_S` up to `at_s`.

        A series that began inside the window counts from its first reading. No second reading inside the
        window or too long a step to it is unknown, never zero.
        """
        times = self._times
        end = self._until(at_s)
        if not end:
            return ABSENT
        newest_s = times[end - 1]
        if newest_s < at_s - STALE_S:
            return _STALE
        start = max(bisect_right(times, at_s - WINDOW_S), 1)
        if end <= start or newest_s - times[start - 1] > _SPAN_S:
            return _TOO_FEW
        return Value(self._levels[end - 1] - self._levels[start - 1])

    def _until(self, at_s: float) -> int:
        """Return how many readings there are up to a time: mostly all, as mostly now is asked for."""
        times = self._times
        return len(times) if times and times[-1] <= at_s else bisect_right(times, at_s)

    def buckets(self, start_s: int, end_s: int) -> Floats:
        """Return what the buckets in [start_s, end_s) hold: a counter's increase, a gauge's last reading.

        NaN where the readings do not tell. Readings after `end_s` change nothing.
        """
        edges = np.arange(start_s, end_s + 1, BUCKET_S, dtype=np.float64)
        first = max(bisect_left(self._times, start_s - _SPAN_S) - 1, 0)
        read = slice(first, bisect_right(self._times, end_s))
        times, levels = np.array(self._times[read]), np.array(self._levels[read])
        if not times.size:
            return np.full(len(edges) - 1, np.nan)
        last = np.searchsorted(times, edges, side="right") - 1
        ends = last[1:]
        is_read = ends > last[:-1]
        if not self.is_counter:
            return np.where(is_read, levels[ends], np.nan)
        starts = np.maximum(last[:-1], 0)
        is_told = is_read & (ends > starts) & (times[ends] - times[starts] <= _SPAN_S)
        return np.where(is_told, levels[ends] - levels[starts], np.nan)

    def minute(self, start_s: int) -> float:
        """Return what the bucket from `start_s` holds, as `buckets` would, without arrays of one.

        It is asked for of every signal of every pod each minute.
        """
        times, levels = self._times, self._levels
        before, last = bisect_right(times, start_s) - 1, bisect_right(times, start_s + BUCKET_S) - 1
        if last <= before:
            return math.nan
        if not self.is_counter:
            return levels[last]
        first = max(before, 0)
        is_told = last > first and times[last] - times[first] <= _SPAN_S
        return levels[last] - levels[first] if is_told else math.nan
