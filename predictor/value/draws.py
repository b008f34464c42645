"""The bootstrap: blocks of time drawn with replacement, as many as there are."""

from __future__ import annotations

import numpy as np

from predictor.ports import Floats

ENDS = (0.025, 0.975)
"""Quantiles over draws between which 95 % of them lie."""


def draws_of(blocks: int, draws: int, seed: int = 0) -> Floats:
    """Return how often each block was drawn, shape (blocks, draws); `of_blocks @ drawn` are their sums."""
    chance = np.random.default_rng(seed)
    drawn: Floats = chance.multinomial(blocks, np.full(blocks, 1 / blocks), draws).T.astype(float)
    return drawn
