"""Announced rises: so many times what is usual, for some hours, and ready when they begin."""

from __future__ import annotations

from dataclasses import dataclass

from allocator.need import Timing
from fleet.workload import WorkloadKey
from foreslice.outlook import Outlook

DAY_S, HOUR_S = 86400.0, 3600.0


@dataclass(frozen=True, slots=True)
class Boost:
    """A rise that somebody knows of.

    Attributes:
        workload: Whose.
        factor: Times what is usual.
        from_s: When it begins, seconds since the epoch.
        to_s: When it ends; less than a day after it began, so that the day before was usual.
        because: What it is for, one line.
    """

    workload: WorkloadKey
    factor: float
    from_s: float
    to_s: float
    because: str

    def least(self, outlook: Outlook, at_s: float, ahead_s: float) -> float:
        """Return the work that must be carried now so that it is ready when the rise begins; else 0.

        Usual is what was asked at this time of the day before, or in the hour before the rise if that was
        more: never what is asked during it, which has risen already.
        """
        if not self.from_s - ahead_s <= at_s < self.to_s:
            return 0.0
        yesterday_s, begins_s = at_s - DAY_S, min(self.from_s, outlook.end_s)
        usual = max(
            outlook.asked(yesterday_s, yesterday_s + HOUR_S), outlook.asked(begins_s - HOUR_S, begins_s)
        )
        return self.factor * usual


def announced(
    boosts: tuple[Boost, ...], workload: WorkloadKey, outlook: Outlook, at_s: float, timing: Timing
) -> tuple[float, float]:
    """Return the least that announced rises have carried now, and the least that they have kept."""
    own = [boost for boost in boosts if boost.workload == workload]
    ahead_s = timing.lead_s + timing.tick_s
    way_back_s = timing.regrow_s + timing.dwell_s
    up = max((boost.least(outlook, at_s, ahead_s) for boost in own), default=0.0)
    return up, max((boost.least(outlook, at_s, ahead_s + way_back_s) for boost in own), default=0.0)
