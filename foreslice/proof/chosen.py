"""Settings chosen on what is past: nothing scored has a say in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreslice.proof.books import Book
from foreslice.proof.mean import Mean, near_cheapest
from predictor.ports import Floats
from predictor.value.draws import draws_of
from predictor.value.ledger import Ledger

SURE, DRAWS = 0.8, 200
"""Share of draws of the days before in which a setting must have kept what may go unserved."""

BEYOND_REACH = 0.1
"""Aimed at where no setting kept what may go unserved: this share more than the least that one left."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for a time.

    Attributes:
        block: First block of the time.
        sees_until: Block before which everything was seen that it was chosen on.
        setting: What is used.
    """

    block: int
    sees_until: int
    setting: Mean

    @property
    def uses_forecast(self) -> bool:
        """Whether a forecast has a say."""
        return self.setting.say > 0


def choose(tried: Book, allowed: float, block: int) -> Choice:
    """Return what is used from a block on, by all blocks before it.

    Of each kind, forecasts and rules alike, the cheapest setting that surely left no more unserved than
    `allowed`; those near the cheapest of them have an equal say. So a forecast decides alone where it was
    clearly the cheapest, and has no say where it was clearly dearer.
    """
    past = tried.total.of_blocks(slice(0, block))
    unserved, held = _unserved(past, SURE), past.held.sum(axis=1)
    mean = near_cheapest(tried.knobs, unserved, held, _within_reach(unserved, allowed))
    if mean is None:
        raise ValueError("nothing is tried")
    return Choice(block, block, mean)


def _within_reach(unserved: Floats, allowed: float) -> float:
    least = float(unserved.min())
    return allowed if least <= allowed else (1.0 + BEYOND_REACH) * least


def cheapest_surely(settings: Ledger, allowed: float) -> int:
    """Return the cheapest setting that left no more unserved in most draws, else the one that left least."""
    unserved = _unserved(settings, SURE)
    keeps = unserved <= allowed
    if not keeps.any():
        return int(np.argmin(unserved))
    return int(np.argmin(np.where(keeps, settings.held.sum(axis=1), np.inf)))


AIMS = (1.0, 0.7, 0.5, 0.35, 0.25, 0.15, 0.1)
"""Parts of what may go unserved that are aimed at, largest first."""

LEAST_DAYS = 2
"""Days that a choice is made on at least when choices of the past are judged."""


def aim_that_kept(settings: Ledger, allowed: float, by_day: int) -> float:
    """Return what has to be aimed at so that choices of the past surely kept `allowed` on later days.

    Every day but the first two is walked through: chosen on the days before, judged on the day. The largest
    aim that kept it over all of them in most draws, else the least; without such a day the whole of it.

    Args:
        settings: What each setting came to by block, of the past only.
        allowed: Share of the work that may go unserved.
        by_day: Blocks in a day.
    """
    blocks = np.arange(len(settings.asked))
    starts = range(LEAST_DAYS * by_day, len(blocks), by_day)
    if not starts:
        return allowed
    days = [settings.of_blocks((blocks >= start) & (blocks < start + by_day)) for start in starts]
    before = [settings.of_blocks(blocks < start) for start in starts]
    for part in AIMS:
        aim = part * allowed
        came = Ledger.then(
            day.of_setting(cheapest_surely(one, aim)) for one, day in zip(before, days, strict=True)
        )
        if _unserved(came, SURE)[0] <= allowed:
            return aim
    return AIMS[-1] * allowed


def _unserved(settings: Ledger, quantile: float) -> Floats:
    """Return a quantile, over draws of the blocks, of the share of its work that each setting left."""
    drawn = draws_of(len(settings.asked), DRAWS)
    shares = (settings.lacked @ drawn) / np.maximum(settings.asked @ drawn, _TINY)
    unserved: Floats = np.quantile(shares, quantile, axis=1)
    return unserved


_TINY = 1e-12
