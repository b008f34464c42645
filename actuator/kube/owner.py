"""What a workload's owner may ask for, with his own rights: to be left alone, and to have copies gone."""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import suppress

from actuator.kube.apiserver import MERGE, ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS, PODS, REPLICA_SETS, SERVING
from actuator.manifest import Json, key_of
from actuator.objects.variants import is_variant_of, unused_templates
from fleet.errors import RefusedError
from fleet.workload import WorkloadKey


def _is_of(body: Json, uids: Container[str]) -> bool:
    """Return whether an object goes with one of these."""
    return any(owner["uid"] in uids for owner in body["metadata"].get("ownerReferences") or ())


class Owner:
    """Writes in the name of whoever the connection belongs to.

    Args:
        server: The API server, with the rights of a workload's owner.
    """

    def __init__(self, server: ApiServer) -> None:
        self._server = server

    def annotate(self, workload: WorkloadKey, annotations: Mapping[str, str | None]) -> None:
        """Write annotations on the workload's Deployment; `None` takes one away.

        Raises:
            RefusedError: There is no such Deployment, or its owner has no right to write it.
        """
        body = {"metadata": {"annotations": dict(annotations)}}
        for resource in SERVING:
            path = resource.path(workload.namespace, workload.name)
            with suppress(NotFoundError):
                self._server.request("PATCH", path, body, None, MERGE)
                return
        raise RefusedError(f"Deployment {workload} does not exist")

    def end_copies(self, workload: WorkloadKey) -> tuple[str, ...]:
        """Delete the copies that ask for no replicas, and what they claimed by; return their names."""
        try:
            base = self._server.request("GET", DEPLOYMENTS.path(workload.namespace, workload.name))
        except NotFoundError:
            return ()
        found = self._server.request("GET", DEPLOYMENTS.path(workload.namespace))["items"]
        spent = [body for body in found if is_variant_of(body, base) and not body["spec"].get("replicas", 1)]
        for body in spent:
            with suppress(NotFoundError):
                path = DEPLOYMENTS.path(workload.namespace, key_of(body).name)
                meta = body["metadata"]
                # Only as it was read: somebody may have scaled it up since.
                conditions = {"uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
                self._server.request("DELETE", path, {"preconditions": conditions})
        ended = {key_of(body).name for body in spent}
        kept = [body for body in found if key_of(body).name not in ended]
        templates, *made = (
            self._server.request("GET", resource.path(workload.namespace))["items"]
            for resource in (CLAIM_TEMPLATES, REPLICA_SETS, PODS)
        )
        # Those of a copy that ended are on their way out.
        uids = {body["metadata"]["uid"] for body in spent}
        staying = (body for bodies in made for body in bodies if not _is_of(body, uids))
        for name in unused_templates(templates, [*kept, *staying], base):
            with suppress(NotFoundError):
                self._server.request("DELETE", CLAIM_TEMPLATES.path(workload.namespace, name))
        return tuple(sorted(ended))
