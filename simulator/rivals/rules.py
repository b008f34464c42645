"""Rules that need no model and do not look at what they hold: the strongest rivals of a forecast.

Each returns the work that it wants capacity for, by setting and step, from what is known at the end of the
step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from predictor.highest import highest_ahead, trailing_highest
from predictor.ports import Floats

MEMORY_S, THINNED_S, EVERY_S = 5 * 86_400, 300, 3600
"""Errors that `residual` goes by: how far back, how far apart, and how often anew."""

ENOUGH = 50
"""Errors before there is a quantile of them."""


def hold(work: Floats, widths: Sequence[int]) -> Floats:
    """Return the maximum of the last so many steps, to be multiplied by a factor.

    What AWS target tracking and the KEDA recipes of inference servers do with a cool-down, and the best
    rule at most lags of NASA, taxi and job traces (docs/replay.md).
    """
    return np.stack([trailing_highest(work, width) for width in widths])


def residual(work: Floats, lag: int, step_s: int, quantiles: Floats) -> Floats:
    """Return the newest work plus a rolling quantile of how far the peak until the lag rose above it.

    On a square-root scale, on which the spread of counts does not depend on their level (Bartlett, 1936).
    It is the "last + residual" rung of `predictor.ladder` on each window, without its learning from
    censored work.
    """
    n, width = len(work), lag + 1
    rose = np.sqrt(highest_ahead(work, width)) - np.sqrt(work)
    wanted = np.empty((len(quantiles), n))
    memory, thinned, every = (max(1, seconds // step_s) for seconds in (MEMORY_S, THINNED_S, EVERY_S))
    for start in range(0, n, every):
        past = rose[max(0, start - memory) : max(0, start - width) : thinned]
        added = np.quantile(past, quantiles) if len(past) >= ENOUGH else np.zeros(len(quantiles))
        roots = np.sqrt(work[start : start + every]) + added[:, np.newaxis]
        wanted[:, start : start + every] = np.maximum(roots, 0.0) ** 2
    return wanted


def daily(work: Floats, trained: int, day: int, width: int) -> Floats:
    """Return the highest of the training days at this time of day, until what is ordered now is ready.

    Args:
        work: Work by step; the day of the first step is the first training day.
        trained: Steps that train, a day at least.
        day: Steps in a day.
        width: Steps until what is ordered now is ready.
    """
    days = trained // day
    calendar = highest_ahead(work[: days * day], width).reshape(days, day).max(axis=0)
    return np.tile(calendar, -(-len(work) // day))[np.newaxis, : len(work)]
