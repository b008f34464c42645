"""How hard to try: counts of rounds and nodes, never time, so that every machine gives the same plan."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits of one packing.

    Attributes:
        rounds: Rounds of column generation.
        close_enough: Cost that is not worth another round.
        close_enough_part: The same as a part of the cost, where costs are not whole cards.
        slack: Part of a workload's price that the exact floor does not look for.
        branches: Open branches of one workload's floor.
        binaries: Configurations that the polishing program may choose from.
        per_ask: Configurations that it may choose from for one workload.
        reduced_cost: Configurations dearer than the cheapest by more are not considered.
        enough: Part above the bound at which the search ends, where costs are not whole cards.
        enough_limited: The same where cards or queues are limited: their programs take longer.
        near_limited: Part above the best of what is chosen from at which an integer program ends, likewise.
        tries: Prices beside the final ones at which more configurations are looked for.
        steps: Steps between two configurations over which a workload was split.
        nodes: Nodes of each integer program.
    """

    rounds: int = 40
    close_enough: float = 0.05
    close_enough_part: float = 0.001
    slack: float = 1e-4
    branches: int = 2000
    binaries: int = 400
    per_ask: int = 8
    reduced_cost: float = 0.05
    enough: float = 0.005
    enough_limited: float = 0.015
    near_limited: float = 0.002
    tries: int = 8
    steps: int = 16
    nodes: int = 20

    @property
    def wider(self) -> Effort:
        """The same with more configurations to choose from, for where the usual ones fit on no cards."""
        return replace(self, binaries=2 * self.binaries, reduced_cost=4 * self.reduced_cost)
