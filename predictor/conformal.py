"""Quantiles of what happened lately, and the shift that makes forecast quantiles cover what they say.

Split conformal prediction (Lei et al., 2018; Angelopoulos and Bates, 2021) on a window that rolls: of n
scores the one of rank ceil((n + 1) q) is met by the next one with probability q, if it is like them.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, insort
from collections.abc import Sequence
from functools import cache

from fleet.demand import QUANTILES
from predictor.steps import DAY_S

MEMORY_S = 5 * DAY_S
"""How long errors are remembered: 3 to 5 days did best on ten public traces."""

ENOUGH = 50
"""Errors that a quantile of them is taken from at least."""

_ROUND_OFF = 1e-9

NEEDED = tuple(math.ceil(5 / (1 - quantile) - _ROUND_OFF) for quantile in QUANTILES)
"""Scores by quantile before an offset is learnt from them: five beyond the quantile."""


@cache
def ranks(n: int, quantiles: tuple[float, ...] = QUANTILES) -> tuple[int, ...]:
    """Return for each quantile the index in n sorted scores that covers the next one that often."""
    return tuple(min(math.ceil((n + 1) * quantile - _ROUND_OFF), n) - 1 for quantile in quantiles)


class Recent:
    """The newest scores, each of one or more columns, sorted by column for quantiles at any time.

    A score that is only a lower bound (its demand was censored) may raise a quantile and never lower one:
    it counts where it reaches the highest notch of the exact ones, else not at all.
    """

    __slots__ = ("_at", "_bounds", "_exact", "_is_bound", "_quantiles", "_scores")

    def __init__(self, columns: int = 1, quantiles: tuple[float, ...] = QUANTILES) -> None:
        self._quantiles = quantiles
        # Arrays of numbers: a fleet of a thousand workloads remembers a hundred million of them.
        self._at = array("q")
        self._is_bound = bytearray()
        self._scores = array("d")
        self._exact = [array("d") for _ in range(columns)]
        self._bounds = [array("d") for _ in range(columns)]

    def __len__(self) -> int:
        """Number of exact scores."""
        return len(self._exact[0])

    def add(self, at: int, scores: Sequence[float], *, is_lower_bound: bool) -> None:
        """Take in the scores, one per column, that became known at time `at`, which never falls."""
        self._at.append(at)
        self._is_bound.append(is_lower_bound)
        self._scores.extend(scores)
        for column, score in zip(self._bounds if is_lower_bound else self._exact, scores, strict=True):
            insort(column, score)

    def expire(self, before: int) -> None:
        """Drop what became known before a time."""
        gone, width = bisect_left(self._at, before), len(self._exact)
        for place in range(gone):
            columns = self._bounds if self._is_bound[place] else self._exact
            for column, score in zip(columns, self._scores[place * width : (place + 1) * width], strict=True):
                del column[bisect_left(column, score)]
        del self._at[:gone], self._is_bound[:gone], self._scores[: gone * width]

    def ordered(self, column: int = 0) -> Sequence[float]:
        """Return the scores of a column that count, lowest first; not to be changed."""
        scores, bounds = self._exact[column], self._bounds[column]
        if not bounds or not scores:
            return scores
        highest = scores[ranks(len(scores), self._quantiles)[-1]]
        raising = bounds[bisect_left(bounds, highest) :]
        return sorted(scores + raising) if raising else scores

    def quantiles(self) -> list[float]:
        """Return the first column at each quantile; `IndexError` when it is empty."""
        scores = self.ordered()
        return [scores[rank] for rank in ranks(len(scores), self._quantiles)]

    def diagonal(self) -> list[float]:
        """Return the i-th column at the i-th quantile; `IndexError` when they are empty."""
        return [self.own(column) for column in range(len(self._exact))]

    def own(self, column: int) -> float:
        """Return a column at its own quantile; `IndexError` when it is empty."""
        scores = self.ordered(column)
        return scores[ranks(len(scores), self._quantiles)[column]]

    def tail(self, column: int) -> tuple[float, float]:
        """Return a column at its own quantile, and the mean excess of scores above; `IndexError` if empty."""
        scores = self.ordered(column)
        rank = ranks(len(scores), self._quantiles)[column]
        above = scores[rank + 1 :]
        return scores[rank], math.fsum(above) / len(above) - scores[rank] if above else 0.0


class Offsets:
    """One shift per quantile, learnt from how far forecasts of that quantile were off out of sample."""

    __slots__ = ("_misses",)

    def __init__(self) -> None:
        self._misses = Recent(columns=len(QUANTILES))

    def add(self, at: int, actual: float, forecasts: Sequence[float], *, is_lower_bound: bool) -> None:
        """Take in an outcome that became known at time `at`, and what had been forecast at each quantile."""
        misses = [actual - forecast for forecast in forecasts]
        self._misses.add(at, misses, is_lower_bound=is_lower_bound)

    def expire(self, before: int) -> None:
        """Drop what became known before a time."""
        self._misses.expire(before)

    def shifts(self, cap: float) -> list[float]:
        """Return the shift of each quantile: none before `NEEDED` outcomes, never down, at most `cap` up.

        Few outcomes say little about a high quantile, and what they say can be enormous. Downwards the
        errors themselves roll already; to shift as well corrects twice, late (on eight public traces q .95
        of the next 15 min then covered 77 to 96 %, now 91 to 96 %, at 4 % less pinball loss).
        """
        known = len(self._misses)
        return [
            min(max(self._misses.own(column), 0.0), cap) if known >= needed else 0.0
            for column, needed in enumerate(NEEDED)
        ]
