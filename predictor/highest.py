"""The highest of steps: of those up to each one, and of those that come after it."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

Number = TypeVar("Number", bound=np.generic)


def trailing_highest(values: NDArray[Number], width: int, axis: int = -1) -> NDArray[Number]:
    """Return the highest of each step and the ones before it, `width` in all.

    The first steps look back on the first. Complexity: steps, whatever the width.

    Args:
        values: None of them NaN.
        width: Steps, at least one.
        axis: Of time.
    """
    highest: NDArray[Number] = maximum_filter1d(
        values, width, axis=axis, mode="nearest", origin=(width - 1) // 2
    )
    return highest


def highest_ahead(values: NDArray[Number], width: int) -> NDArray[Number]:
    """Return the highest of the `width` steps after each; the last ones end with what there is."""
    later = np.append(values[1:], values[-1:])
    return trailing_highest(later[::-1], width)[::-1]
