"""Pods that nobody can have read yet: they became ready a moment ago, for the first time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from math import inf
from typing import NamedTuple

from fleet.cluster import Fleet
from fleet.workload import WorkloadKey
from predictor.now import FRESH_S

YOUNG_S = 600.0
"""A pod that is gone after less was lost: replicas stay for longer before a plan takes one (`Timing`)."""


class _Came(NamedTuple):
    """When a pod was first ready, and whether that was news."""

    at_s: float
    is_news: bool


class Newcomers:
    """Tells who is new, by what was seen: a pod's time of readiness is its last one, by its node's clock.

    A container that starts anew, or a node that was not heard of for a moment, makes nobody new. Nor is
    anyone new who was ready when this process began to look, or looked again: nobody knows for how long.
    Nor is who comes in the place of one that was lost: where pods fail and are made anew again and again,
    each has a name of its own, and none is ever read.
    """

    def __init__(self) -> None:
        self._looked_at_s = -inf
        self._came: Mapping[tuple[WorkloadKey, str], _Came] = {}
        self._lost_at_s: Mapping[WorkloadKey, list[float]] = {}

    def look(self, fleet: Fleet | None, at_s: float) -> Mapping[WorkloadKey, frozenset[str]]:
        """Return by workload the pods that have been ready for less than `FRESH_S`, for the first time.

        Ticks and plans look beside each other: a view that is older than the last is not remembered.
        """
        if fleet is None:
            return {}
        is_watched = at_s - self._looked_at_s < FRESH_S
        ready_at_s = {
            (standing.key, replica.pod): replica.ready_at_s
            for standing in fleet.standings
            for variant in standing.variants
            for replica in variant.replicas
        }
        lost_at_s = self._lost(ready_at_s.keys(), at_s)
        came: dict[tuple[WorkloadKey, str], _Came] = {}
        new: defaultdict[WorkloadKey, set[str]] = defaultdict(set)
        for one, since_s in ready_at_s.items():
            key, pod = one
            if one in self._came:
                came[one] = self._came[one]
            elif since_s is not None:
                came[one] = _Came(min(since_s, at_s), is_watched and not lost_at_s[key])
                del lost_at_s[key][:1]
            if one in came and came[one].is_news and at_s - came[one].at_s < FRESH_S:
                new[key].add(pod)
        if at_s >= self._looked_at_s:
            self._looked_at_s, self._came, self._lost_at_s = at_s, came, lost_at_s
        return {key: frozenset(pods) for key, pods in new.items()}

    def _lost(
        self, there: Collection[tuple[WorkloadKey, str]], at_s: float
    ) -> defaultdict[WorkloadKey, list[float]]:
        """Return when pods were lost in whose place nobody has come yet, of the last `YOUNG_S`."""
        lost_at_s: defaultdict[WorkloadKey, list[float]] = defaultdict(list)
        for key, times in self._lost_at_s.items():
            lost_at_s[key] += [lost_s for lost_s in times if at_s - lost_s < YOUNG_S]
        for one, (came_s, _) in self._came.items():
            if one not in there and at_s - came_s < YOUNG_S:
                lost_at_s[one[0]].append(at_s)
        return lost_at_s
