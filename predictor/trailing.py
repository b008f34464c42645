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
    rows = [_row(_known(values, width, step), least) for step in range(since, len(values))]
    return Trailing(*np.array(rows, dtype=np.float64).reshape(-1, len(Trailing._fields)).T)


def trailing_mean(values: Floats, width: int, since: int) -> Floats:
    """Return the mean of what is known of the last `width` values at each step from `since` on.

    NaN where nothing is known. Arguments as in `trailing`.
    """
    if len(values) - since > FEW:
        mean = pd.Series(values[max(0, since - width + 1) :]).rolling(width, min_periods=1).mean()
        return mean.to_numpy(np.float64)[since - len(values) :]
    return np.array([_mean(_known(values, width, step)) for step in range(since, len(values))])


def shifted(values: Floats, steps: int, since: int) -> Floats:
    """Return what the values were `steps` steps before each step from `since` on; NaN before the first."""
    return padded(values[max(0, since - steps) : max(0, len(values) - steps)], len(values) - since)


def padded(values: Floats, length: int) -> Floats:
    """Return values with unknown ones (NaN) before them, `length` in all."""
    unknown = length - len(values)
    return np.concatenate([np.full(unknown, np.nan), values]) if unknown else values


def _known(values: Floats, width: int, step: int) -> Floats:
    window = values[max(0, step - width + 1) : step + 1]
    return window[np.isfinite(window)]


def _mean(known: Floats) -> float:
    return float(np.add.reduce(known)) / len(known) if len(known) else np.nan


def _row(known: Floats, least: int) -> tuple[float, float, float, float]:
    if len(known) < max(1, least):
        return (np.nan,) * 4
    mean = _mean(known)
    away = known - mean
    deviation = math.sqrt(away @ away / (len(known) - 1)) if len(known) > 1 else np.nan
    return mean, known.max(), known.min(), deviation
