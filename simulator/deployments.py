"""The Deployment controller of the embedded world."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b

from simulator.api import DEPLOYMENT, POD, Api, Event, Json
from simulator.clock import Clock
from simulator.errors import NotModelledError
from simulator.metadata import Name, is_owned, name_of, owner_reference
from simulator.pods import is_leaving, is_ready
from simulator.workqueue import WorkQueue

POD_TEMPLATE_HASH = "pod-template-hash"
"""Label of a pod: which template of its Deployment it was made from."""


class DeploymentController:
    """Keeps as many pods of each Deployment as it asks for; there are no ReplicaSets and no rollouts."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._queue: WorkQueue[Name] = WorkQueue(clock, self._reconcile)
        api.watch(DEPLOYMENT, lambda event: self._queue.add(name_of(event.body)))
        api.watch(POD, self._on_pod)

    def _on_pod(self, event: Event) -> None:
        for owner in event.body["metadata"].get("ownerReferences", ()):
            if owner["kind"] == DEPLOYMENT.name:
                self._queue.add((event.body["metadata"]["namespace"], owner["name"]))

    def _reconcile(self, name: Name) -> None:
        deployment = self._api.get(DEPLOYMENT, *name)
        if deployment is None or is_leaving(deployment):
            return
        template_hash = _template_hash(deployment)
        # Pods that somebody else made in its name have no such label; ReplicaSets leave them alone.
        made = (pod for pod in self._pods_of(deployment) if POD_TEMPLATE_HASH in pod["metadata"]["labels"])
        staying = [pod for pod in made if is_owned(pod, deployment) and not is_leaving(pod)]
        if any(pod["metadata"]["labels"][POD_TEMPLATE_HASH] != template_hash for pod in staying):
            raise NotModelledError(f"a rollout of Deployment {name[0]}/{name[1]}")
        wanted = deployment["spec"].get("replicas", 1)
        for pod in _best_first(staying)[wanted:]:
            self._api.delete(POD, name[0], pod["metadata"]["name"], uid=pod["metadata"]["uid"])
        for _ in range(wanted - len(staying)):
            self._api.create(_pod(deployment, template_hash))
        ready = sum(map(is_ready, staying))
        status = {
            "observedGeneration": deployment["metadata"]["generation"],
            "replicas": len(staying),
            "readyReplicas": ready,
            "availableReplicas": ready,
        }
        self._api.replace_status({**deployment, "status": status})

    def _pods_of(self, deployment: Json) -> Sequence[Json]:
        return self._api.list(POD, deployment["metadata"]["namespace"], _selector(deployment))


def _best_first(pods: Sequence[Json]) -> list[Json]:
    """Order in which pods are kept: bound, ready, old (kubernetes pkg/controller ActivePodsWithRanks)."""
    by_age = sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))
    return sorted(by_age, key=lambda pod: (bool(pod["spec"].get("nodeName")), is_ready(pod)), reverse=True)


def _selector(deployment: Json) -> dict[str, str]:
    selector = deployment["spec"]["selector"]
    if selector.keys() - {"matchLabels"}:
        raise NotModelledError("selectors other than equality")
    labels: dict[str, str] = selector["matchLabels"]
    return labels


def _template_hash(deployment: Json) -> str:
    template = json.dumps(deployment["spec"]["template"], sort_keys=True)
    return blake2b(template.encode(), digest_size=5).hexdigest()


def _pod(deployment: Json, template_hash: str) -> Json:
    template, name = deployment["spec"]["template"], deployment["metadata"]["name"]
    metadata = template["metadata"]
    return {
        "apiVersion": POD.api_version,
        "kind": POD.name,
        "metadata": {
            **metadata,
            "namespace": deployment["metadata"]["namespace"],
            "generateName": f"{name}-{template_hash}-",
            "labels": {**metadata["labels"], POD_TEMPLATE_HASH: template_hash},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": template["spec"],
    }
