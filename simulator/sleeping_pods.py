"""Containers of pods that share a claim: their engines load, sleep and wake on one device."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.shape import Shape
from fleet.workload import Workload, WorkloadKey
from simulator.api import POD, Api, Change, Event, Json
from simulator.manifests import workload_of
from simulator.node import Containers
from simulator.pods import condition
from simulator.sleep import Beds, SleepMode, Stage


class SleepingContainers:
    """Implements `simulator.node.Containers`: `inner`, with a sleep mode for engines whose claim is shared.

    Args:
        api: Where pods are seen to have loaded.
        inner: What runs the engines.
        mode: Their sleep mode.
        beds: What memory they take.
        workloads: What pods may serve.
    """

    def __init__(
        self,
        api: Api,
        inner: Containers,
        mode: SleepMode,
        beds: Beds,
        workloads: Mapping[WorkloadKey, Workload],
    ) -> None:
        self._inner = inner
        self._mode = mode
        self._beds = beds
        self._workloads = workloads
        api.watch(POD, self._on_pod)

    def start(self, pod: Json, shape: Shape) -> None:
        """Begin to load on this shape."""
        self._inner.start(pod, shape)
        claim = shared_claim(pod)
        if claim:
            self._mode.load(
                pod["metadata"]["name"],
                claim,
                pod["spec"]["nodeName"],
                self._beds.of(self._workloads[workload_of(pod)], shape),
                self._beds.memory_gib(shape),
            )

    def load_s(self, pod: Json) -> float:
        """Return seconds from start to serving, if nothing else starts on the node."""
        return self._inner.load_s(pod)

    def drain_s(self, pod: Json) -> float:
        """Return seconds until the last request that the pod serves now is done."""
        return self._inner.drain_s(pod)

    def stop(self, pod: Json) -> None:
        """End; whatever is still being served is lost."""
        self._inner.stop(pod)
        if shared_claim(pod):
            self._mode.gone(pod["metadata"]["name"])

    def _on_pod(self, event: Event) -> None:
        name = event.body["metadata"]["name"]
        if event.change is not Change.DELETED and self._mode.stage(name) is Stage.LOADING:
            loaded = condition(event.body, "ContainersReady")
            if loaded is not None and loaded["status"] == "True":
                self._mode.loaded(name)


def shared_claim(pod: Json) -> str:
    """Return namespace and name of the claim that a pod uses with others, empty where it has its own."""
    claims = pod["spec"].get("resourceClaims", ())
    named = next((claim["resourceClaimName"] for claim in claims if claim.get("resourceClaimName")), "")
    return f"{pod['metadata']['namespace']}/{named}" if named else ""
