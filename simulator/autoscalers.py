"""The HorizontalPodAutoscaler controller of the embedded world, without metrics."""

from __future__ import annotations

from simulator.api import AUTOSCALER, DEPLOYMENT, Api, Event, Json
from simulator.clock import Clock
from simulator.errors import NotModelledError
from simulator.metadata import Name, name_of
from simulator.workqueue import WorkQueue

SYNC_S = 15.0
"""Between two looks (kube-controller-manager --horizontal-pod-autoscaler-sync-period)."""

STABLE_S = 300.0
"""How long fewer replicas must have been asked for (autoscaling/v2, scaleDown.stabilizationWindowSeconds)."""


class AutoscalerController:
    """Keeps replicas between an autoscaler's bounds, as kubernetes pkg/controller/podautoscaler does.

    Fewer than the minimum are raised at the next look, without any metric. Metrics are not modelled: as if
    all was idle, replicas go down to the minimum once that has stood for the stabilisation time, which is the
    most that lowering a minimum can do. A Deployment at zero is left alone.
    """

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._clock = clock
        self._above_since_s: dict[Name, tuple[int, float]] = {}
        self._queue: WorkQueue[Name] = WorkQueue(clock, self._reconcile)
        api.watch(AUTOSCALER, self._on_autoscaler)

    def _on_autoscaler(self, event: Event) -> None:
        self._queue.add(name_of(event.body), SYNC_S)

    def _reconcile(self, name: Name) -> None:
        body = self._api.get(AUTOSCALER, *name)
        if body is None:
            self._above_since_s.pop(name, None)
            return
        spec, target = body["spec"], body["spec"]["scaleTargetRef"]
        if target["kind"] != DEPLOYMENT.name or spec.get("metrics") or spec.get("behavior"):
            raise NotModelledError("autoscalers with metrics or behavior, or of anything but Deployments")
        self._queue.add(name, SYNC_S)
        deployment = self._api.get(DEPLOYMENT, name[0], target["name"])
        replicas = self._wanted(name, spec, deployment) if deployment is not None else None
        if deployment is not None and replicas is not None:
            self._api.replace({**deployment, "spec": {**deployment["spec"], "replicas": replicas}})

    def _wanted(self, name: Name, spec: Json, deployment: Json) -> int | None:
        """Return what replicas become, `None` while they stay."""
        replicas: int = deployment["spec"].get("replicas", 1)
        low: int = spec.get("minReplicas", 1)
        if not replicas or replicas == low:
            self._above_since_s.pop(name, None)
            return None
        if replicas < low or replicas > spec["maxReplicas"]:
            most: int = spec["maxReplicas"]
            return max(low, min(replicas, most))
        since = self._above_since_s.setdefault(name, (low, self._clock.now_s))
        if since[0] != low:
            self._above_since_s[name] = since = (low, self._clock.now_s)
        return low if self._clock.now_s - since[1] >= STABLE_S else None
