"""What kube-controller-manager does for workloads with claims: make pods and claims, and clean up.

Both controllers reconcile from scratch and only when something that they watch has changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import blake2b

from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, POD, Api, Change, Event, Json
from simulator.clock import Clock
from simulator.errors import NotModelledError
from simulator.pods import DELETE_PROTECTION, POD_CLAIM_NAME, claim_names, is_leaving, is_ready
from simulator.workqueue import WorkQueue

POD_TEMPLATE_HASH = "pod-template-hash"

_Name = tuple[str, str]


class DeploymentController:
    """Keeps as many pods of each Deployment as it asks for; there are no ReplicaSets and no rollouts."""

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._queue: WorkQueue[_Name] = WorkQueue(clock, self._reconcile)
        api.watch(DEPLOYMENT, lambda event: self._queue.add(_name_of(event.body)))
        api.watch(POD, self._on_pod)

    def _on_pod(self, event: Event) -> None:
        for owner in event.body["metadata"].get("ownerReferences", ()):
            if owner["kind"] == DEPLOYMENT.name:
                self._queue.add((event.body["metadata"]["namespace"], owner["name"]))

    def _reconcile(self, name: _Name) -> None:
        deployment = self._api.get(DEPLOYMENT, *name)
        if deployment is None:
            return
        uid, template_hash = deployment["metadata"]["uid"], _template_hash(deployment)
        pods = [pod for pod in self._api.list(POD, name[0], _selector(deployment)) if _is_owned(pod, uid)]
        staying = [pod for pod in pods if not is_leaving(pod)]
        if any(pod["metadata"]["labels"][POD_TEMPLATE_HASH] != template_hash for pod in staying):
            raise NotModelledError(f"a rollout of Deployment {name[0]}/{name[1]}")
        wanted = deployment["spec"].get("replicas", 1)
        for pod in _best_first(staying)[wanted:]:
            self._api.delete(POD, name[0], pod["metadata"]["name"])
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
            "ownerReferences": [_owner(deployment)],
        },
        "spec": template["spec"],
    }


class ClaimController:
    """Makes each pod's ResourceClaims from their templates, and frees what no pod uses any more.

    Follows kubernetes pkg/controller/resourceclaim (v1.37): a claim is deallocated the moment its last
    consumer is gone, and a claim made from a template dies with its pod.
    """

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._pods: WorkQueue[_Name] = WorkQueue(clock, self._make_claims)
        self._claims: WorkQueue[_Name] = WorkQueue(clock, self._release)
        api.watch(POD, self._on_pod)
        api.watch(CLAIM_TEMPLATE, self._on_template)
        api.watch(CLAIM, lambda event: self._claims.add(_name_of(event.body)))

    def _on_pod(self, event: Event) -> None:
        namespace, name = _name_of(event.body)
        if event.change is not Change.DELETED:
            self._pods.add((namespace, name))
            return
        for claim in claim_names(event.body).values():
            if claim is not None:
                self._claims.add((namespace, claim))

    def _on_template(self, event: Event) -> None:
        for pod in self._api.list(POD, event.body["metadata"]["namespace"]):
            if None in claim_names(pod).values():
                self._pods.add(_name_of(pod))

    def _make_claims(self, name: _Name) -> None:
        pod = self._api.get(POD, *name)
        if pod is None or is_leaving(pod) or None not in claim_names(pod).values():
            return
        made = {entry["name"]: entry for entry in pod["status"].get("resourceClaimStatuses", ())}
        for entry in pod["spec"]["resourceClaims"]:
            claim = None if entry["name"] in made else self._claim(pod, entry)
            if claim is not None:
                made[entry["name"]] = {"name": entry["name"], "resourceClaimName": claim["metadata"]["name"]}
        status = {**pod["status"], "resourceClaimStatuses": list(made.values())}
        self._api.replace_status({**pod, "status": status})

    def _claim(self, pod: Json, entry: Json) -> Json | None:
        """Return a pod's own claim, made now unless an earlier attempt has; `None` without its template."""
        for claim in self._api.list(CLAIM, pod["metadata"]["namespace"]):
            name = claim["metadata"].get("annotations", {}).get(POD_CLAIM_NAME)
            if name == entry["name"] and _is_owned(claim, pod["metadata"]["uid"]):
                return claim
        name = entry.get("resourceClaimTemplateName", "")
        template = self._api.get(CLAIM_TEMPLATE, pod["metadata"]["namespace"], name)
        return template and self._api.create(_claim(pod, entry["name"], template))

    def _release(self, name: _Name) -> None:
        claim = self._api.get(CLAIM, *name)
        if claim is None:
            return
        status = claim.get("status", {})
        users = [user for user in status.get("reservedFor", ()) if self._lives(name[0], user)]
        if len(users) < len(status.get("reservedFor", ())):
            status = {**status, "reservedFor": users} if users else {}
            claim = self._api.replace_status({**claim, "status": status})
        metadata = claim["metadata"]
        if DELETE_PROTECTION in metadata.get("finalizers", ()) and "allocation" not in status:
            rest = [finalizer for finalizer in metadata["finalizers"] if finalizer != DELETE_PROTECTION]
            self._api.replace({**claim, "metadata": {**metadata, "finalizers": rest}})

    def _lives(self, namespace: str, user: Json) -> bool:
        pod = self._api.get(POD, namespace, user["name"])
        return pod is not None and pod["metadata"]["uid"] == user["uid"]


def _claim(pod: Json, name: str, template: Json) -> Json:
    metadata = template["spec"].get("metadata", {})
    return {
        "apiVersion": CLAIM.api_version,
        "kind": CLAIM.name,
        "metadata": {
            "namespace": pod["metadata"]["namespace"],
            "generateName": f"{pod['metadata']['name']}-{name}-",
            "labels": metadata.get("labels", {}),
            "annotations": {**metadata.get("annotations", {}), POD_CLAIM_NAME: name},
            "ownerReferences": [_owner(pod)],
        },
        "spec": template["spec"]["spec"],
    }


def _owner(body: Json) -> Json:
    return {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "name": body["metadata"]["name"],
        "uid": body["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _is_owned(body: Json, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in body["metadata"].get("ownerReferences", ()))


def _name_of(body: Json) -> _Name:
    return body["metadata"]["namespace"], body["metadata"]["name"]
