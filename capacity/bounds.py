"""Rates that one replica sustains, and the rates that it sustains with 90 % confidence at least."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from capacity.law import Floats, Integers
from capacity.sustained import Sustained

Solve = Callable[[Integers, Floats], list[Sustained]]
"""What is sustained in the questions with these numbers, some of them several times, where the logarithms of
alpha, beta and gamma are this much larger, a row for each."""

_Z90 = 1.2816
"""A normal variable stays below this many standard deviations with a probability of 90 %."""

_STEP = 0.02
"""Difference in a parameter's logarithm over which the slope of a rate is taken."""

_LEAST = 1e-3
"""Ratio of rates below which a slope is not followed: beyond is a target that a lone request misses."""


def expected_and_low(solve: Solve, covariances: Floats) -> tuple[list[Sustained], list[Sustained]]:
    """Return what is sustained at the medians, and what the truth exceeds with 90 % confidence.

    The low rate is that of the most probable among the laws that are slower than nine in ten: from the
    medians the way on which the rate falls fastest for its probability, followed for 1.28 standard deviations
    (the first-order design point of reliability analysis). Which parameter counts how much depends on mix
    and objective, so it is worked out for each of them. Complexity: 5 solves each, 4 of them together.

    Args:
        solve: Answers questions.
        covariances: Of the logarithms of the parameters, by question, shape (n, 3, 3).
    """
    count = len(covariances)
    questions = np.arange(count)
    steps = np.concatenate((np.zeros((1, 3)), _STEP * np.eye(3)))
    solved = solve(np.repeat(questions, len(steps)), np.tile(steps, (count, 1)))
    expected = solved[:: len(steps)]
    rates = np.array([one.requests_per_s for one in solved]).reshape(count, len(steps))
    ratios = rates[:, 1:] / np.where(rates[:, :1] > 0, rates[:, :1], 1.0)
    slopes = np.log(np.maximum(ratios, _LEAST)) / _STEP
    towards = np.einsum("nij,nj->ni", covariances, slopes)
    spread = np.sqrt(np.einsum("ni,ni->n", slopes, towards))
    low = solve(questions, -_Z90 * towards / np.where(spread > 0, spread, 1.0)[:, np.newaxis])
    # Targets that give way do so further for slower laws, and a rate that fell at first may end above.
    lower = (min(pair, key=lambda one: one.requests_per_s) for pair in zip(low, expected, strict=True))
    return expected, list(lower)
