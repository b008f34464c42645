"""The objects of the standby pool on an API server, read anew whenever they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import CLAIM_TEMPLATES, CLAIMS, DEPLOYMENTS, PODS, Resource
from actuator.manifest import STANDBY_LABEL, Json
from fleet.workload import WorkloadKey

_KINDS = {resource.kind: resource for resource in (CLAIMS, PODS)}


class KubePoolObjects:
    """Implements `actuator.standby.objects.Objects`.

    Args:
        server: The API server.
        fence: Asked right before every write.
    """

    def __init__(self, server: ApiServer, fence: Callable[[], object]) -> None:
        self._server = server
        self._fence = fence

    def claims(self, namespace: str) -> Sequence[Json]:
        """Return ResourceClaims with the pool's label."""
        return self._list(CLAIMS, namespace, STANDBY_LABEL)

    def pods(self, namespace: str) -> Sequence[Json]:
        """Return pods with the pool's label."""
        return self._list(PODS, namespace, STANDBY_LABEL)

    def base(self, workload: WorkloadKey) -> Json | None:
        """Return a workload's Deployment."""
        query = {"fieldSelector": f"metadata.name={workload.name}"}
        answer = self._server.request("GET", DEPLOYMENTS.path(workload.namespace), None, query)
        return next((DEPLOYMENTS.named(body) for body in answer["items"]), None)

    def templates(self, namespace: str) -> Mapping[str, Json]:
        """Return ResourceClaimTemplates by name."""
        return {body["metadata"]["name"]: body for body in self._list(CLAIM_TEMPLATES, namespace)}

    def create(self, body: Json) -> None:
        """Write a new object; `ConflictError` if its name is taken."""
        self._fence()
        self._server.create(_KINDS[body["kind"]].path(body["metadata"]["namespace"]), body)

    def replace(self, body: Json) -> None:
        """Write everything but the status of a claim."""
        self._put(body)

    def replace_status(self, body: Json) -> None:
        """Write the status of a pod."""
        self._put(body, "status")

    def delete(self, body: Json) -> None:
        """Delete an object as of its uid and version; one that is gone is no error."""
        metadata = body["metadata"]
        path = _KINDS[body["kind"]].path(metadata["namespace"], metadata["name"])
        known = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        self._fence()
        with suppress(NotFoundError):
            self._server.request("DELETE", path, {"preconditions": known})

    def _put(self, body: Json, part: str = "") -> None:
        metadata = body["metadata"]
        self._fence()
        path = _KINDS[body["kind"]].path(metadata["namespace"], metadata["name"], part)
        self._server.request("PUT", path, body)

    def _list(self, resource: Resource, namespace: str, label: str = "") -> Sequence[Json]:
        query = {"labelSelector": label} if label else {}
        answer = self._server.request("GET", resource.path(namespace), None, query)
        return [resource.named(body) for body in answer["items"]]
