"""Which quantile of demand each tier pays for: moved until what goes unserved is what may."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import structlog

from fleet.demand import QUANTILES, Unserved
from fleet.workload import Tier, WorkloadKey
from predictor.ports import Floats
from predictor.shared import Shelf

WEEK_S = 7 * 86_400.0

LEAST_DAYS = 7
"""Days that have to be known before a quantile is moved."""


class Notches:
    """A notch of `QUANTILES` for each tier, moved by one a week at most.

    Every tier begins with its own quantile, also after a restart. It goes up where, over the last two weeks,
    more of its workloads' work went unserved than the tier allows, and down where the notch below would have
    left no more than that, too.
    """

    def __init__(self) -> None:
        self._at = {tier: QUANTILES.index(tier.demand_quantile) for tier in Tier}
        self._week: int | None = None
        self._last_week: dict[Tier, Floats] = {}

    def of(self, tier: Tier) -> float:
        """Return the quantile that a tier pays for now."""
        return QUANTILES[self._at[tier]]

    def turn(self, at_s: float, unserved: Mapping[Tier, Iterable[Unserved]]) -> None:
        """Move what has to be moved, if a week has begun since the last turn.

        Args:
            at_s: Now, seconds since the epoch.
            unserved: By tier, what forecasts of each workload that they decide for left in the last days.
        """
        week = int(at_s // WEEK_S)
        if self._week is None or week <= self._week:
            self._week = week if self._week is None else self._week
            return
        self._week = week
        for tier, several in unserved.items():
            known = [one for one in several if one.days >= LEAST_DAYS]
            asked = sum(one.asked for one in known)
            if asked > 0:
                self._move(tier, np.array([*np.sum([one.lacked for one in known], axis=0), asked]))

    def _move(self, tier: Tier, this_week: Floats) -> None:
        both = this_week + self._last_week.get(tier, 0.0)
        self._last_week[tier] = this_week
        before, shares = self._at[tier], both[:-1] / both[-1]
        self._at[tier] = _moved(before, shares.tolist(), tier.unserved_share)
        if self._at[tier] != before:
            structlog.get_logger().info(
                "quantile moved",
                tier=tier.value,
                quantile=self.of(tier),
                was=QUANTILES[before],
                unserved=round(float(shares[before]), 5),
                allowed=tier.unserved_share,
            )


TOLERATED = 1.25
"""Times what a tier allows above which its quantile goes up: it is not to go back and forth."""


def _moved(notch: int, shares: list[float], allowed: float) -> int:
    """Return the next notch, one away at most."""
    if shares[notch] > TOLERATED * allowed:
        return min(notch + 1, len(QUANTILES) - 1)
    if notch and shares[notch - 1] <= allowed:
        return notch - 1
    return notch


@dataclass(frozen=True, slots=True)
class Learnt:
    """What the fleet's workloads share in their forecasts.

    Attributes:
        shelf: Where the model is that they share.
        notches: Which quantile each tier pays for.
        leads_s: How long changes of each workload take, once a cluster was seen.
    """

    shelf: Shelf = field(default_factory=Shelf)
    notches: Notches = field(default_factory=Notches)
    leads_s: dict[WorkloadKey, float] = field(default_factory=dict)
