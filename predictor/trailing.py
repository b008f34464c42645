"""Statistics of the last values at each step, unknown ones left out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from predictor.ports import Floats

FEW = 8
"""Rows up to which each is looked at by itself: pandas takes a fifth of a millisecond to begin, and a
forecast asks for one row of two dozen statistics."""


class Trailing(NamedTuple):
    """By step, of its last values; NaN where fewer than asked for are known, as in pandas."""

    mean: Floats
    highest: Floats
    lowest: Floats
    deviation: Floats


def trailing(values: Floats, width: int, least: int, since: int) -> Trailing:
    """Return the statistics of the last `width` values at each step from `since` on.

    Args:
        values: By step, NaN = unknown.
        width: Values looked at, those of the step itself with them.
        least: How many of them are known at least.
        since: First step asked for.
    """
    if len(values) - since > FEW:
        window = pd.Series(values[max(0, since - width + 1) :]).rolling(width, min_periods=least)
        asked = slice(since - len(values), None)
        every = window.mean(), window.max(), window.min(), window.std()
        return Trailing(*(each.to_numpy(np.float64)[asked] for each in every))
    rows = [_row(values[max(0, step - width + 1) : step + 1], least) for step in range(since, len(values))]
    return Trailing(*np.array(rows, dtype=np.float64).reshape(-1, len(Trailing._fields)).T)


def shifted(values: Floats, steps: int, since: int) -> Floats:
    """Return what the values were `steps` steps before each step from `since` on; NaN before the first."""
    then = values[max(0, since - steps) : max(0, len(values) - steps)]
    return np.concatenate([np.full(len(values) - since - len(then), np.nan), then])


def _row(window: Floats, least: int) -> tuple[float, float, float, float]:
    known = window[np.isfinite(window)]
    if len(known) < max(1, least):
        return (np.nan,) * 4
    mean = known.mean()
    squares = ((known - mean) ** 2).sum()
    return mean, known.max(), known.min(), math.sqrt(squares / (len(known) - 1)) if len(known) > 1 else np.nan
