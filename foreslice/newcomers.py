"""Pods that nobody can have read yet: they became ready a moment ago, for the first time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from math import inf

from fleet.cluster import Fleet
from fleet.workload import WorkloadKey
from predictor.now import FRESH_S


class Newcomers:
    """Tells who is new, by what was seen: a pod's time of readiness is its last one, by its node's clock.

    A container that starts anew, or a node that was not heard of for a moment, makes nobody new. Nor is
    anyone new who was ready when this process began to look, or looked again: nobody knows for how long.
    """

    def __init__(self) -> None:
        self._looked_at_s = -inf
        self._since_s: Mapping[tuple[WorkloadKey, str], float] = {}

    def look(self, fleet: Fleet | None, at_s: float) -> Mapping[WorkloadKey, frozenset[str]]:
        """Return by workload the pods that have been ready for less than `FRESH_S`, for the first time."""
        if fleet is None:
            return {}
        is_watched = at_s - self._looked_at_s < FRESH_S
        since_s: dict[tuple[WorkloadKey, str], float] = {}
        new: defaultdict[WorkloadKey, set[str]] = defaultdict(set)
        for standing in fleet.standings:
            for replica in (replica for variant in standing.variants for replica in variant.replicas):
                one, ready_at_s = (standing.key, replica.pod), replica.ready_at_s
                if one in self._since_s:
                    since_s[one] = self._since_s[one]
                elif ready_at_s is not None:
                    since_s[one] = min(ready_at_s, at_s) if is_watched else -inf
                if at_s - since_s.get(one, -inf) < FRESH_S:
                    new[standing.key].add(replica.pod)
        self._looked_at_s, self._since_s = at_s, since_s
        return {key: frozenset(pods) for key, pods in new.items()}
