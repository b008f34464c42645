"""Quantiles of what happened lately, and the shift that makes forecast quantiles cover what they say.

Split conformal prediction (Lei et al., 2018; Angelopoulos and Bates, 2021) on a window that rolls: of n
scores the one of rank ceil((n + 1) q) is met by the next one with probability q, if it is like them.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence

from fleet.demand import QUANTILES


def rank(n: int, quantile: float) -> int:
    """Return the index in n sorted scores that covers the next one with probability `quantile`."""
    return min(math.ceil((n + 1) * quantile - 1e-9), n) - 1


class Recent:
    """The newest scores in sorted order, for quantiles at any time.

    A score that is only a lower bound (its demand was censored) may raise a quantile and never lower one:
    it counts where it reaches the highest notch of the exact ones, else not at all.
    """

    __slots__ = ("_bounds", "_exact", "_queue")

    def __init__(self) -> None:
        self._queue: deque[tuple[int, float, bool]] = deque()
        self._exact: list[float] = []
        self._bounds: list[float] = []

    def __len__(self) -> int:
        return len(self._exact)

    def add(self, at: int, score: float, *, is_lower_bound: bool) -> None:
        """Take in a score that became known at time `at`."""
        self._queue.append((at, score, is_lower_bound))
        insort(self._bounds if is_lower_bound else self._exact, score)

    def expire(self, before: int) -> None:
        """Drop the scores from before a time."""
        queue = self._queue
        while queue and queue[0][0] < before:
            _, score, is_lower_bound = queue.popleft()
            scores = self._bounds if is_lower_bound else self._exact
            del scores[bisect_left(scores, score)]

    def quantiles(self, quantiles: Sequence[float]) -> list[float]:
        """Return conformal quantiles of the scores; `IndexError` when there is none."""
        scores = self._exact
        if self._bounds:
            top = scores[rank(len(scores), QUANTILES[-1])]
            scores = sorted(scores + self._bounds[bisect_left(self._bounds, top) :])
        n = len(scores)
        return [scores[rank(n, quantile)] for quantile in quantiles]


class Offsets:
    """One shift per quantile, learnt from how far forecasts of that quantile were off out of sample."""

    __slots__ = ("_scores",)

    def __init__(self) -> None:
        self._scores = [Recent() for _ in QUANTILES]

    def add(self, at: int, actual: float, forecasts: Sequence[float], *, is_lower_bound: bool) -> None:
        """Take in a fate that became known at time `at`, and what each quantile had been forecast to be."""
        for scores, forecast in zip(self._scores, forecasts, strict=True):
            scores.add(at, actual - forecast, is_lower_bound=is_lower_bound)

    def expire(self, before: int) -> None:
        """Drop what was learnt before a time."""
        for scores in self._scores:
            scores.expire(before)

    def shifts(self, cap: float) -> list[float]:
        """Return the shift of each quantile, at most `cap` either way.

        It is zero before 5 / (1 - q) scores are known, and capped, because the q .99 of few scores explodes
        (measured on ten public traces; see docs of the forecast).
        """
        shifts = []
        for quantile, scores in zip(QUANTILES, self._scores, strict=True):
            if len(scores) < 5 / (1 - quantile) - 1e-9:
                shifts.append(0.0)
            else:
                shifts.append(min(max(scores.quantiles((quantile,))[0], -cap), cap))
        return shifts
