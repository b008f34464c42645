"""The objects of the standby pool in the embedded world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from actuator.manifest import STANDBY_LABEL, labels_of
from fleet.workload import WorkloadKey
from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, POD, Api, Json, Kind, kind_of


class PoolObjects:
    """Implements `actuator.standby.objects.Objects` on the API that the simulator's agents use."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def claims(self, namespace: str) -> Sequence[Json]:
        """Return ResourceClaims with the pool's label."""
        return self._labelled(CLAIM, namespace)

    def pods(self, namespace: str) -> Sequence[Json]:
        """Return pods with the pool's label."""
        return self._labelled(POD, namespace)

    def base(self, workload: WorkloadKey) -> Json | None:
        """Return a workload's Deployment."""
        return self._api.get(DEPLOYMENT, workload.namespace, workload.name)

    def templates(self, namespace: str) -> Mapping[str, Json]:
        """Return ResourceClaimTemplates by name."""
        return {body["metadata"]["name"]: body for body in self._api.list(CLAIM_TEMPLATE, namespace)}

    def create(self, body: Json) -> None:
        """Write a new object; `ConflictError` if its name is taken."""
        self._api.create(body)

    def replace(self, body: Json) -> None:
        """Write everything but the status of a claim."""
        self._api.replace(body)

    def replace_status(self, body: Json) -> None:
        """Write the status of a pod."""
        self._api.replace_status(body)

    def delete(self, body: Json) -> None:
        """Delete an object as of its uid; one that is gone is no error."""
        metadata = body["metadata"]
        self._api.delete(kind_of(body), metadata["namespace"], metadata["name"], uid=metadata["uid"])

    def _labelled(self, kind: Kind, namespace: str) -> Sequence[Json]:
        return [body for body in self._api.list(kind, namespace) if STANDBY_LABEL in labels_of(body)]
