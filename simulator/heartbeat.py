"""The sign of life by which a real control plane knows that a node is there."""

from __future__ import annotations

from collections.abc import Iterable

from actuator.manifest import timestamp_of
from simulator.api import LEASE, NODE, Api, Json
from simulator.clock import Clock
from simulator.workqueue import WorkQueue

_NAMESPACE = "kube-node-lease"
# Kubelets' defaults (k8s.io/kubelet config v1beta1 nodeLeaseDurationSeconds; they renew at a quarter of it).
_DURATION_S = 40
_PERIOD_S = 10


class Heartbeat:
    """Renews the Leases of nodes while the clock runs; a node that does not is soon tainted unreachable."""

    def __init__(self, api: Api, clock: Clock, nodes: Iterable[str]) -> None:
        self._api = api
        self._clock = clock
        self._queue: WorkQueue[str] = WorkQueue(clock, self._renew)
        for node in nodes:
            self._queue.add(node)

    def _renew(self, node: str) -> None:
        """Renew a node's Lease, the first time make it; one who is gone needs none any more."""
        owner = self._api.get(NODE, None, node)
        if owner is None:
            return
        held = self._api.get(LEASE, _NAMESPACE, node)
        spec = {
            "holderIdentity": node,
            "leaseDurationSeconds": _DURATION_S,
            "renewTime": timestamp_of(self._clock.now_s),
        }
        if held is None:
            self._api.create(_lease(owner, spec))
        else:
            self._api.replace({**held, "spec": spec})
        self._queue.add(node, _PERIOD_S)


def _lease(node: Json, spec: Json) -> Json:
    metadata = node["metadata"]
    owner = {
        "apiVersion": NODE.api_version,
        "kind": NODE.name,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }
    return {
        "apiVersion": LEASE.api_version,
        "kind": LEASE.name,
        "metadata": {"namespace": _NAMESPACE, "name": metadata["name"], "ownerReferences": [owner]},
        "spec": spec,
    }
