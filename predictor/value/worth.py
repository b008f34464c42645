"""The value of a forecast: which part of what could be saved it saves, at equal unserved work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from predictor.ports import Floats
from predictor.value.draws import ENDS, draws_of
from predictor.value.ledger import Ledger

LEAST_PRIZE = 1.05
"""Below this multiple of what an oracle holds nothing is to be won, and its parts are noise."""

DRAWS = 300
"""Of the bootstrap."""


@dataclass(frozen=True, slots=True)
class Value:
    """V = (off - ours) / (off - oracle), in capacity x time at the work that ours left unserved.

    Attributes:
        value: V; 1 = as good as knowing, 0 = as good as the best rule without a forecast; `None` = not
            decidable: no rule leaves so little unserved, or there is nothing to be won.
        low: Lower end of its interval of 95 %, by blocks of time; `None` likewise.
        high: Upper end.
        prize: What the best rule held over what the oracle did; `None` where no rule leaves so little.
        saved: Share of what the best rule held that ours does without; `None` likewise.
        unserved: Share of the work that ours left.
        blocks: Blocks of time that it rests on.
    """

    value: float | None
    low: float | None
    high: float | None
    prize: float | None
    saved: float | None
    unserved: float
    blocks: int


def value_of(
    off: Ledger, ours: Ledger, oracle: Ledger, weights: Floats | None = None, seed: int = 0
) -> Value:
    """Return the value of a forecast, with an interval from a bootstrap over blocks.

    Off and oracle are the cheapest of their settings that leave no more unserved than ours did: in hindsight,
    which favours them, and anew in each draw.

    Args:
        off: Settings of rules without a forecast.
        ours: The one setting that was used.
        oracle: Settings of who knows what comes.
        weights: Of the blocks; `None` = equal.
        seed: Of the bootstrap.

    Raises:
        ValueError: Ours is not one setting, or no work was asked for.
    """
    if len(ours.held) != 1:
        raise ValueError("ours is one setting")
    blocks = len(ours.asked)
    weights = np.ones(blocks) if weights is None else weights
    if not weights @ ours.asked > 0:
        raise ValueError("no work was asked for")
    columns = weights[:, None] * np.column_stack([np.ones(blocks), draws_of(blocks, DRAWS, seed)])
    columns = columns[:, ours.asked @ columns > 0]
    unserved = (ours.lacked @ columns)[0] / (ours.asked @ columns)
    spent = (ours.held @ columns)[0]
    best, known = (cheapest(one, unserved, columns) for one in (off, oracle))
    is_there = bool(np.isfinite(best[0]) and np.isfinite(known[0]) and known[0] > 0)
    prize = float(best[0] / known[0]) if is_there else None
    saved = float(1 - spent[0] / best[0]) if is_there else None
    if prize is None or prize < LEAST_PRIZE:
        return Value(None, None, None, prize, saved, float(unserved[0]), blocks)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = (best - spent) / (best - known)
    values = values[np.isfinite(values)]
    low, high = np.quantile(values, ENDS)
    return Value(float(values[0]), float(low), float(high), prize, saved, float(unserved[0]), blocks)


def cheapest(policy: Ledger, unserved: Floats, weights: Floats) -> Floats:
    """Return the least that settings hold which leave no more than that unserved, infinite where none does.

    Between two settings it is the line between them: the share of the time in which each would serve.

    Args:
        policy: Settings.
        unserved: Shares of the work, by way of weighing.
        weights: By block and way of weighing.
    """
    held, shares = policy.held @ weights, (policy.lacked @ weights) / (policy.asked @ weights)
    order = np.argsort(shares, axis=0, kind="stable")
    shares = np.take_along_axis(shares, order, axis=0)
    least = np.minimum.accumulate(np.take_along_axis(held, order, axis=0), axis=0)
    return np.array(
        [
            np.interp(allowed, shares[:, way], least[:, way], left=np.inf)
            for way, allowed in enumerate(unserved)
        ]
    )
