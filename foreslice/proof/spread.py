"""A share that was saved, with its interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.ports import Floats
from predictor.value.draws import ENDS, draws_of

DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Saving:
    """Share of card-hours that is saved, with the ends of its interval of 95 % by blocks of time."""

    share: float
    low: float
    high: float


def saved(ours: Floats, theirs: Floats) -> Saving:
    """Return what one saves over another, by what both held in each block."""
    drawn = draws_of(len(ours), DRAWS)
    low, high = np.quantile(1.0 - (ours @ drawn) / (theirs @ drawn), ENDS)
    return Saving(float(1.0 - ours.sum() / theirs.sum()), float(low), float(high))
