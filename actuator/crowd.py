"""How many engines may be starting at the same time: those on one node slow each other down.

Images are pulled and weights are read over what a node has once, and loading is bound by its processors. What
is placed where is known once the scheduler has chosen, so that the nodes' places are given out
together, and one node may go over its own for a moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from math import inf

from actuator.gate import Terms, refusal
from fleet.change import ChangeSet, Step, Verb
from fleet.cluster import Fleet, Replica, Standing
from fleet.workload import WorkloadKey

STARTS_PER_NODE = 8
"""One for each card of the usual node: whole cards start as they did without us."""

HANGS_S = 900.0
"""A start that takes so long hangs, and must not hold up others for ever."""

PLACED_S = 60.0
"""What has no place after this waits for room, and starts nothing."""


class Crowd:
    """The places for starts that are free, given out in the order in which they are asked for.

    Args:
        fleet: What stands; where it has no cards no start is limited.
        per_node: Engines that may be starting on one node.
        at_s: Now, seconds since the epoch.
    """

    def __init__(self, fleet: Fleet, per_node: int, at_s: float) -> None:
        self._starting = list(_starting(fleet, at_s))
        on_node = Counter(r.device.node for r in self._starting if r.device is not None)
        places = _places(fleet, per_node)
        self._places = sum(places.values())
        free = sum(max(0, most - on_node[node]) for node, most in places.items())
        self._full: set[tuple[WorkloadKey, str]] = set()
        self._granted: dict[tuple[WorkloadKey, str], int] = {}
        self._free = max(0, free - (len(self._starting) - on_node.total())) if places else inf

    @property
    def waves(self) -> int:
        """How many lead times it takes until one more is ready: those that start now come first."""
        return 1 + (len(self._starting) // self._places if self._places else 0)

    def cut(self, change: ChangeSet, standing: Standing, terms: Terms) -> ChangeSet:
        """Return a change whose additions start no more engines than there are places, one at least.

        Those for which there is none are refused as they stand. What may not be added takes no place.
        """
        return replace(change, steps=tuple(self._cut(standing, step, terms) for step in change.steps))

    def refusal(self, standing: Standing, step: Step) -> str | None:
        """Return why a step of a change that was cut may not start engines now, `None` = it may."""
        if (standing.key, step.variant) not in self._full:
            return None
        return f"{len(self._starting)} engines are starting, and there are {self._places} places for that"

    def give_back(self, standing: Standing, step: Step) -> None:
        """Free the places of a step of a change that was cut: it starts nothing after all."""
        self._free += self._granted.pop((standing.key, step.variant), 0)

    def _cut(self, standing: Standing, step: Step, terms: Terms) -> Step:
        more = _more(standing, step)
        if not more:
            return step
        granted = int(min(more, self._free))
        if not granted:
            self._full.add((standing.key, step.variant))
            return step
        cut = replace(step, replicas=step.replicas - more + granted)
        if refusal(standing, cut, terms) is None:
            self._free -= granted
            self._granted[standing.key, step.variant] = granted
        return cut


def _places(fleet: Fleet, per_node: int) -> dict[str, int]:
    """Return how many engines may be starting on each node.

    Where nothing keeps the tenants of a card apart, no more than it has cards: an engine that starts takes
    what is free for its own, and two at once on one card take it twice. Which card a pod gets is not said.
    """
    cards = Counter(gpu.node for gpu in fleet.gpus)
    sliced = {pool.node for pool in fleet.pools if pool.has_shares}
    return {node: min(per_node, n) if node in sliced else per_node for node, n in cards.items()}


def _more(standing: Standing, step: Step) -> int:
    """Return how many engines a step starts."""
    if step.verb is not Verb.SCALE_UP:
        return 0
    variant = standing.named(step.variant)
    return max(0, step.replicas - (variant.told if variant is not None else 0))


def _starting(fleet: Fleet, at_s: float) -> Iterator[Replica]:
    for standing in fleet.standings:
        for variant in standing.variants:
            for replica in variant.replicas:
                is_new = at_s - replica.created_at_s < (PLACED_S if replica.device is None else HANGS_S)
                if is_new and not replica.is_ready and not replica.is_leaving:
                    yield replica
