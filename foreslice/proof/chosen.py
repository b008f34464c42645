"""Settings chosen on what is past, and whether a forecast pays there: nothing scored has a say in it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foreslice.proof.books import Book
from foreslice.proof.setting import Setting
from predictor.ports import Floats
from predictor.value.draws import draws_of
from predictor.value.ledger import Ledger
from predictor.value.worth import Value, value_of

PAYS, PAYS_AT_LEAST = 0.1, 0.0
"""V of the days before, and the low end of its interval, above which a forecast comes into use; it goes on
while V itself is above: one wild day widens the interval and says little of the next."""

SURE, DRAWS = 0.8, 200
"""Share of draws of the days before in which a setting must have kept what may go unserved."""

LEAST_SAVING = 0.05
"""Share that another setting must hold less to take the place of the one in use: what is chosen anew
for each day buys less than the same for all days."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen for a time.

    Attributes:
        block: First block of the time.
        sees_until: Block before which everything was seen that it was chosen on.
        setting: What is used.
        value: V of the best forecast setting on the days before.
        uses_forecast: Whether it paid there.
    """

    block: int
    sees_until: int
    setting: Setting
    value: Value
    uses_forecast: bool


def choose(
    forecasts: Book, off: Book, oracle: Book, allowed: float, block: int, before: Choice | None = None
) -> Choice:
    """Return what is used from a block on, by all blocks before it.

    The cheapest setting of forecasts that surely left no more unserved than `allowed`, where V of it is above
    `PAYS`, and the low end of V above `PAYS_AT_LEAST` unless forecasts were used `before`; else the cheapest
    such rule. The setting before goes on, unless it surely left more, or the new one holds less by
    `LEAST_SAVING`.
    """
    past = slice(0, block)
    ahead, rules, known = (one.blocks(past).total for one in (forecasts, off, oracle))
    best = cheapest_surely(ahead, allowed)
    value = value_of(rules, ahead.of_setting(best), known)
    is_used = before is not None and before.uses_forecast
    pays = (
        value.value is not None
        and value.low is not None
        and value.value > PAYS
        and (is_used or value.low > PAYS_AT_LEAST)
    )
    knobs, tried = (forecasts.knobs, ahead) if pays else (off.knobs, rules)
    at = best if pays else cheapest_surely(rules, allowed)
    if before is not None and before.uses_forecast == pays:
        used = knobs.index(before.setting)
        is_short = _unserved(tried.of_setting(used), 1 - SURE)[0] > allowed
        saves = 1 - tried.held[at].sum() / tried.held[used].sum()
        if not is_short and saves < LEAST_SAVING:
            at = used
    setting = knobs[at]
    if not isinstance(setting, Setting):
        raise TypeError("only settings are chosen")
    return Choice(block, past.stop, setting, value, pays)


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
