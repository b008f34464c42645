"""Replicas by server-side apply: of a Deployment on its scale subresource, of what scales it as their floor.

The subresource, because the permission to patch it is a permission to change replicas and nothing else;
applied, because the API server then names everyone else who keeps the field, and overwrites nobody unless it
is forced to. We force one field alone, and only over writers that come and go: a person with kubectl, a
chart's last installation. What writes the field again and again is not fought.
"""

from __future__ import annotations

from typing import Protocol

from actuator.kube.errors import OwnedError
from actuator.manifest import Json, version_of
from actuator.objects.writers import AUTOSCALER, GITOPS
from fleet.errors import RefusedError
from fleet.writers import Scaler


def scaling(namespace: str, name: str, replicas: int, expects: str | None) -> Json:
    """Return the fields to apply; `expects` is the version that the Deployment must still have."""
    version = {} if expects is None else {"resourceVersion": expects}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"namespace": namespace, "name": name, **version},
        "spec": {"replicas": replicas},
    }


def flooring(namespace: str, scaler: Scaler, replicas: int, expects: str | None) -> Json:
    """Return the fields to apply to what scales; `expects` is the version that it must still have."""
    version = {} if expects is None else {"resourceVersion": expects}
    return {
        "apiVersion": scaler.api_version,
        "kind": scaler.kind,
        "metadata": {"namespace": namespace, "name": scaler.name, **version},
        "spec": {scaler.floor_field: replicas},
    }


class Apply(Protocol):
    """Applies a field."""

    def __call__(self, *, force: bool) -> Json:
        """Return the object that results; `OwnedError` without force where others keep the field."""
        ...


def apply_field(apply: Apply, where: str, field: str, *, is_autoscaled: bool) -> Json:
    """Return the object that results of applying a field.

    Args:
        apply: Applies it.
        where: Names the object, for the message.
        field: Names the field, likewise.
        is_autoscaled: Whether what an autoscaler wrote last it would write again: not once it is deleted.

    Raises:
        RefusedError: Something that will write it again keeps the field.
    """
    try:
        return apply(force=False)
    except OwnedError as error:
        again = [each for each in error.once if each.startswith(GITOPS)]
        if is_autoscaled and AUTOSCALER in error.once:
            again.append(AUTOSCALER)
        keepers = sorted({*error.lasting, *again})
        if keepers:
            raise RefusedError(f"{where}: {_why_not(field, keepers)}") from error
        return apply(force=True)


def scaled(deployment: Json, scale: Json) -> Json:
    """Return a Deployment as it is once a scale was written; a `Scale` leaves zero out.

    The generation counts what is asked for, so it is one more where that is something else.
    """
    replicas, spec = scale["spec"].get("replicas", 0), deployment["spec"]
    metadata = {**deployment["metadata"], "resourceVersion": version_of(scale)}
    if "generation" in metadata:
        metadata["generation"] += replicas != spec.get("replicas", 1)
    return {**deployment, "metadata": metadata, "spec": {**spec, "replicas": replicas}}


def _why_not(field: str, keepers: list[str]) -> str:
    who = " and ".join("a HorizontalPodAutoscaler" if keeper == AUTOSCALER else keeper for keeper in keepers)
    return f"{field} is kept by {who}; take it out of what that applies, or set mode to advise"
