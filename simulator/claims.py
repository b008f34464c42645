"""The ResourceClaim controller of the embedded world."""

from __future__ import annotations

from simulator.api import CLAIM, CLAIM_TEMPLATE, POD, Api, Change, Event, Json
from simulator.clock import Clock
from simulator.metadata import Name, is_owned, name_of, owner_reference
from simulator.pods import DELETE_PROTECTION, POD_CLAIM_NAME, claim_names, is_leaving
from simulator.workqueue import WorkQueue


class ClaimController:
    """Makes each pod's ResourceClaims from their templates, and frees what no pod uses any more.

    Follows kubernetes pkg/controller/resourceclaim (v1.37): a claim is deallocated the moment its last
    consumer is gone, and a claim made from a template dies with its pod.
    """

    def __init__(self, api: Api, clock: Clock) -> None:
        self._api = api
        self._pods: WorkQueue[Name] = WorkQueue(clock, self._make_claims)
        self._claims: WorkQueue[Name] = WorkQueue(clock, self._release)
        api.watch(POD, self._on_pod)
        api.watch(CLAIM_TEMPLATE, self._on_template)
        api.watch(CLAIM, lambda event: self._claims.add(name_of(event.body)))

    def _on_pod(self, event: Event) -> None:
        namespace, name = name_of(event.body)
        if event.change is not Change.DELETED:
            self._pods.add((namespace, name))
            return
        for claim in claim_names(event.body).values():
            if claim is not None:
                self._claims.add((namespace, claim))

    def _on_template(self, event: Event) -> None:
        for pod in self._api.list(POD, event.body["metadata"]["namespace"]):
            if None in claim_names(pod).values():
                self._pods.add(name_of(pod))

    def _make_claims(self, name: Name) -> None:
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
            if name == entry["name"] and is_owned(claim, pod):
                return claim
        name = entry.get("resourceClaimTemplateName", "")
        template = self._api.get(CLAIM_TEMPLATE, pod["metadata"]["namespace"], name)
        return template and self._api.create(_claim(pod, entry["name"], template))

    def _release(self, name: Name) -> None:
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
            "ownerReferences": [owner_reference(pod)],
        },
        "spec": template["spec"]["spec"],
    }
