"""Which of several forecasts to believe, learnt online from how they did: aggregation of experts."""

from __future__ import annotations

import numpy as np

from predictor.ports import Bools, Floats

FORGETTING = 0.002
"""Share of the evidence that is forgotten with each outcome."""


class Mixture:
    """Exponential weights, by quantile, on the linearised pinball loss.

    The gradient trick of Bernstein online aggregation (Wintenberger, 2017, "Optimal learning with Bernstein
    online aggregation"): an expert gains by standing on the side of the mixture on which the outcome fell.
    Each expert learns at a rate of its own, one over the root of its summed squared gains, so that units do
    not matter.

    Args:
        prior: Weight of each expert before anything is known, up to a factor.
        quantiles: Rising.
    """

    def __init__(self, prior: Floats, quantiles: Floats) -> None:
        self._prior = np.log(prior)[:, None]
        self._quantiles = quantiles
        self._gains = np.zeros((len(prior), len(quantiles)))
        self._squares = np.zeros((len(prior), len(quantiles)))

    def weights(self, is_there: Bools) -> Floats:
        """Return weights by expert and quantile, summing to one over those that say something.

        Args:
            is_there: By expert and quantile; at least one expert at each quantile.
        """
        spread = np.sqrt(self._squares)
        scaled = np.divide(self._gains, spread, out=np.zeros_like(spread), where=spread > 0)
        evidence = np.where(is_there, self._prior + scaled, -np.inf)
        weights = np.exp(evidence - evidence.max(axis=0))
        normed: Floats = weights / weights.sum(axis=0)
        return normed

    def combine(self, said: Floats) -> Floats:
        """Return the mixture by quantile of what experts said (experts x quantiles, NaN = nothing)."""
        is_there = np.isfinite(said)
        mixed: Floats = (self.weights(is_there) * np.where(is_there, said, 0.0)).sum(axis=0)
        return mixed

    def learn(self, said: Floats, mixed: Floats, actual: float) -> None:
        """Take in an outcome, and what experts and mixture had said before it."""
        slope = (actual < mixed) - self._quantiles
        gains = np.where(np.isfinite(said), slope * (mixed - said), 0.0)
        self._gains = self._gains * (1 - FORGETTING) + gains
        self._squares = self._squares * (1 - FORGETTING) + gains**2
