"""The disruption controller of the embedded world: how many ready pods each budget lets go."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from simulator.api import BUDGET, DEPLOYMENT, POD, Api, Event, Json
from simulator.clock import Clock
from simulator.errors import NotModelledError
from simulator.metadata import Name, name_of
from simulator.pods import is_leaving, is_ready
from simulator.workqueue import WorkQueue


class DisruptionController:
    """Keeps the status of PodDisruptionBudgets, as kubernetes pkg/controller/disruption does."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._queue: WorkQueue[Name] = WorkQueue(clock, self._reconcile)
        api.watch(BUDGET, lambda event: self._queue.add(name_of(event.body)))
        api.watch(POD, self._on_change)
        api.watch(DEPLOYMENT, self._on_change)

    def _on_change(self, event: Event) -> None:
        for budget in self._api.list(BUDGET, event.body["metadata"]["namespace"]):
            self._queue.add(name_of(budget))

    def _reconcile(self, name: Name) -> None:
        budget = self._api.get(BUDGET, *name)
        if budget is None:
            return
        selector = budget["spec"]["selector"]
        if selector.keys() - {"matchLabels"}:
            raise NotModelledError("selectors other than equality")
        pods = self._api.list(POD, name[0], selector.get("matchLabels"))
        healthy = sum(is_ready(pod) and not is_leaving(pod) for pod in pods)
        expected, desired = self._wanted(budget["spec"], name[0], pods)
        status = {
            "observedGeneration": budget["metadata"]["generation"],
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": max(0, healthy - desired) if expected else 0,
        }
        self._api.replace_status({**budget, "status": status})

    def _wanted(self, spec: Json, namespace: str, pods: Sequence[Json]) -> tuple[int, int]:
        """Return how many pods there should be, and how many must stay healthy (getExpectedPodCount)."""
        match spec:
            case {"maxUnavailable": most}:
                expected = self._scale(namespace, pods)
                return expected, max(0, expected - _scaled(most, expected))
            case {"minAvailable": int(least)}:
                return len(pods), least
            case {"minAvailable": least}:
                expected = self._scale(namespace, pods)
                return expected, _scaled(least, expected)
        return 0, 0

    def _scale(self, namespace: str, pods: Sequence[Json]) -> int:
        """Return what the owners of the pods ask for."""
        owners = {owner["name"] for pod in pods for owner in pod["metadata"].get("ownerReferences", ())}
        deployments = (self._api.get(DEPLOYMENT, namespace, owner) for owner in owners)
        return sum(body["spec"].get("replicas", 1) for body in deployments if body is not None)


def _scaled(value: int | str, expected: int) -> int:
    """Return a number of pods; percentages are rounded up (GetScaledValueFromIntOrPercent)."""
    return value if isinstance(value, int) else ceil(int(value.removesuffix("%")) * expected / 100)
