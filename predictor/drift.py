"""Whether demand of the last hours is like that of no day before: what was learnt says little of it."""

from __future__ import annotations

import math
from array import array

import numpy as np

from fleet.demand import Drift
from predictor.ports import BUCKET_S, Bools, Floats
from predictor.steps import DAY_S

STEP_S = 1800
"""Half hours: shorter steps are mostly noise."""

STEP, DAY, HOUR_MIN = STEP_S // BUCKET_S, DAY_S // STEP_S, 3600 // BUCKET_S

LOOK = DAY // 2
"""Half hours that are compared: fewer tell chance from change badly, more tell it late."""

KEPT_DAYS = 15
"""Days that are remembered: two weeks beside the present one."""

LEAST_DAYS = 8
"""Known days below which nothing is judged: before, the first Saturday would be like none."""

USUAL, BEYOND = 0.9, 2.0
"""Quantile of how far windows of days before were from the day that was most like theirs, and times that at
which a window is like none (measured: docs/adr/0058-demand-like-that-of-no-day-before.md)."""

LEAST = math.log(1.25)
"""No change up to here, however alike days are: a quarter more or less on average."""

FLOOR = 0.1
"""Share of mean demand that is added before ratios are taken: nights are near nothing."""

AN_HOUR = 3600 // STEP_S
"""Half hours after the first window that is like none at which another one has to be."""

_ONE_SIDED = 0.9
"""Share of the half hours that are all higher, or all lower, where it is the level that changed."""


class DriftWatch:
    """Remembers work by half hours, and compares the last twelve hours with the same hours of days before.

    Two windows are as far apart as the logarithms of their half hours on average, and a window is as far from
    the past as from the day that is most like it. How far that usually is, windows of the past say, each
    compared with all other days: what is never like itself does not drift.

    Args:
        minute: Of the hour, in which it is judged: workloads take turns.
    """

    def __init__(self, minute: int = 0) -> None:
        self._minute = minute
        self.begin(0)

    def begin(self, start_s: int) -> None:
        """Forget everything; the first bucket to come starts then."""
        self._end_min = start_s // BUCKET_S
        self._work = array("d")
        self._is_bound = bytearray()
        self._minutes: list[tuple[float, bool]] = []
        self.drift: Drift | None = None

    @property
    def is_to_judge(self) -> bool:
        """Whether it is time to judge."""
        return self._end_min % HOUR_MIN == self._minute

    def append(self, work: float, *, is_censored: bool) -> None:
        """Take in the next closed bucket (NaN = unknown); a censored one was at least that."""
        self._end_min += 1
        self._minutes.append((work, is_censored))
        if self._end_min % STEP == 0:
            known = [minute for minute, _ in self._minutes if not math.isnan(minute)]
            self._work.append(math.fsum(known) / len(known) if 2 * len(known) >= STEP else math.nan)
            self._is_bound.append(any(is_bound for _, is_bound in self._minutes))
            self._minutes.clear()
            surplus = len(self._work) - KEPT_DAYS * DAY
            if surplus > 0:
                del self._work[:surplus], self._is_bound[:surplus]

    def judge(self) -> bool:
        """Compare, keep what is found as `drift`, and return whether demand has begun to drift."""
        before = self.drift
        since_s = before.since_s if before is not None else None
        work = np.array(self._work)
        self.drift = drift(work, np.frombuffer(bytes(self._is_bound), np.bool_))
        if self.drift is None or not self.drift.because:
            return False
        if since_s is not None:
            self.drift = Drift(self.drift.times_limit, self.drift.because, since_s)
            return False
        self.drift = Drift(self.drift.times_limit, self.drift.because, self._end_min * BUCKET_S)
        return True


def drift(work: Floats, is_bound: Bools) -> Drift | None:
    """Return how far the end of a series is from all days before, `None` where too little is known.

    Args:
        work: Mean work by half hour, NaN = unknown.
        is_bound: Which of them are only lower bounds.
    """
    before = work[:-LOOK]
    known = before[np.isfinite(before)]
    if len(known) < LEAST_DAYS * DAY - LOOK or not known.mean() > 0:
        return None
    above = _above(np.log(work + FLOOR * known.mean()), is_bound)
    apart = _apart(above)
    now, hour_ago = apart[:, -1], apart[:, -1 - AN_HOUR]
    usual = _to_nearest(apart[:, :-LOOK])
    usual = usual[np.isfinite(usual)]
    if not (np.isfinite(now).any() and np.isfinite(hour_ago).any() and len(usual)):
        return None
    limit = max(LEAST, BEYOND * float(np.quantile(usual, USUAL)))
    times_limit = float(min(np.nanmin(now), np.nanmin(hour_ago))) / limit
    back = (int(np.nanargmin(now)) + 1) * DAY
    first = max(back, len(work) - LOOK)
    because = _because(work[first:], work[first - back : len(work) - back], back // DAY)
    return Drift(times_limit, because if times_limit > 1 else "")


def _above(logs: Floats, is_bound: Bools) -> Floats:
    """Return by days back and step how far it is above the one so many days before, NaN = not known.

    What was at least so much is below nothing, and nothing is above it.
    """
    days = np.arange(1, -(-len(logs) // DAY))
    above = np.full((len(days), len(logs)), np.nan)
    for place, lag in enumerate(days * DAY):
        steps = above[place, lag:]
        steps[:] = logs[lag:] - logs[:-lag]
        steps[is_bound[lag:]] = np.maximum(steps[is_bound[lag:]], 0.0)
        steps[is_bound[:-lag]] = np.minimum(steps[is_bound[:-lag]], 0.0)
    return above


def _apart(above: Floats) -> Floats:
    """Return the mean distance over the `LOOK` steps up to each, NaN where less than half are known."""
    is_known = np.isfinite(above)
    sums = np.cumsum(np.where(is_known, np.abs(above), 0.0), axis=1)
    counts = np.cumsum(is_known.astype(np.float64), axis=1)
    sums[:, LOOK:] -= sums[:, :-LOOK].copy()
    counts[:, LOOK:] -= counts[:, :-LOOK].copy()
    mean: Floats = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=2 * counts >= LOOK)
    return mean


def _to_nearest(apart: Floats) -> Floats:
    """Return by step how far its window is from that of the day, before or after, that is most like it."""
    least: Floats = np.fmin.reduce(apart, axis=0)
    for days, row in enumerate(apart, start=1):
        back = days * DAY
        least[:-back] = np.fmin(least[:-back], row[back:])
    return least


def _because(work: Floats, nearest: Floats, days: int) -> str:
    """Return what is different from the same hours of the day that was most like them, in words."""
    hours = LOOK * STEP_S // 3600
    if not np.nan_to_num(work).any():
        return f"nothing came in the last {hours} h"
    is_known = np.isfinite(work) & np.isfinite(nearest)
    now, then = work[is_known], nearest[is_known]
    than = f"the same hours {days} d ago, the day most like them"
    more = float((now > then).mean())
    if max(more, 1 - more) >= _ONE_SIDED and then.any():
        return f"the last {hours} h came to {now.sum() / then.sum():.1f} times {than}"
    return f"other hours are busy in the last {hours} h than were in {than}"
