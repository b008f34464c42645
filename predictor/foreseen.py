"""Whether demand that is lower now than an hour ago was to be expected an hour ago.

Falls are compared with those that the same workload has had: over any hour of the days before, and at
this time yesterday, as when a schedule ends. Both were known an hour ago, and both are read from history
alone, so that a restart forgets nothing.
"""

from __future__ import annotations

import numpy as np

from predictor.ports import BUCKET_S, Floats
from predictor.track import DAY

HOUR = 3600 // BUCKET_S

PEAK = 600 // BUCKET_S
"""Buckets whose highest stands for a moment: a lull of some minutes is no fall."""

BAND = 0.05
"""Share of past hours that fell further than what counts as foreseen."""

LOOK_BACK = 2 * DAY
"""Buckets of history that the answer depends on."""

_LEAST = 3 * HOUR
"""Past hours below which nothing is known of how the workload falls."""

_AROUND = HOUR // 2
"""The same time yesterday is give or take half an hour."""


def is_fall_foreseen(work: Floats) -> bool:
    """Return whether the forecast of an hour ago thought demand as low as now possible.

    Args:
        work: Work by minute bucket up to now, NaN = unknown; `LOOK_BACK` buckets and a few hours are used.

    Returns:
        Whether the peak of the last ten minutes is within the .05 quantile of what an hour does to it. No
        fall is always foreseen; what is unknown, or has too little history, never.
    """
    work = work[-(LOOK_BACK + 2 * HOUR) :]
    if len(work) < PEAK + HOUR:
        return False
    now, before = work[-PEAK:].max(), work[-PEAK - HOUR : -HOUR].max()
    if now >= before:
        return True
    peaks = _peaks(work)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = peaks[HOUR:] / peaks[:-HOUR]
    yesterday = kept[-1 - DAY - _AROUND : -DAY + _AROUND] if len(kept) > DAY + _AROUND else kept[:0]
    known = kept[:-HOUR]
    known = known[np.isfinite(known)]
    yesterday = yesterday[np.isfinite(yesterday)]
    if len(known) < _LEAST:
        return False
    # Either is enough, and a quantile of two days takes as long as all the rest.
    if now >= yesterday.min(initial=np.inf) * before:
        return True
    return bool(now >= np.quantile(known, BAND) * before)


def _peaks(work: Floats) -> Floats:
    """Return the highest of each `PEAK` buckets on end, NaN where one is unknown; windows double in width."""
    peaks, width = work, 1
    while width < PEAK:
        more = min(width, PEAK - width)
        peaks, width = np.maximum(peaks[:-more], peaks[more:]), width + more
    return peaks
