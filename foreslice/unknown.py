"""Demand that has been unknown for long: what stood before foreslice came is the least that is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from allocator.decide import Decision
from fleet.cards import CardShares
from fleet.cluster import Fleet
from fleet.workload import WorkloadKey


class UnknownDemand:
    """Knows since when demand of each workload has been unknown.

    Args:
        long_s: It is unknown for long from then on, in seconds.
    """

    def __init__(self, long_s: float) -> None:
        self._long_s = long_s
        self._since_s: dict[WorkloadKey, float] = {}

    def made_safe(self, decisions: Iterable[Decision], fleet: Fleet, at_s: float) -> Iterator[Decision]:
        """Yield decisions, those about long unknown demand raised to what stood before foreslice came.

        Args:
            decisions: What is to be added.
            fleet: The cluster as it stands.
            at_s: Time, seconds since the epoch.
        """
        cards = CardShares(fleet.boards())
        for decision in decisions:
            if decision.need.reactive is not None:
                self._since_s.pop(decision.workload, None)
                yield decision
                continue
            unknown_s = at_s - self._since_s.setdefault(decision.workload, at_s)
            standing = fleet.standing(decision.workload)
            safe = cards.safe(standing) if standing is not None else None
            if safe is None or unknown_s < self._long_s:
                yield decision
                continue
            goal = cards.raised(decision.goal, safe)
            because = (f"demand has been unknown for {unknown_s / 60:.0f} min, {safe} stood before",)
            yield decision if goal == decision.goal else replace(decision, goal=goal, because=because)
