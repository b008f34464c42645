"""The little of the Kubernetes API that agents may use, on plain JSON.

An embedded store and a thin client of a real API server can both offer it, so the same drivers,
kubelets and engines act on either. Objects that it returns are not the caller's to change: edit a
`copy.deepcopy`, or build a new one around the parts that stay.

Two errors tell callers what to do (`fleet.errors`). `ConflictError` (HTTP 404 and 409): the world is not
as the caller thought, the object is there already, gone, or newer than the copy; read again and decide
again. `RefusedError` (400, 403, 422): invalid as asked, and will be the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Protocol

from simulator.errors import NotModelledError

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of object, and where the API serves it.

    Attributes:
        api_version: Group and version.
        name: As in the object's `kind`.
        plural: As in its address.
        is_namespaced: Its objects live in namespaces.
        has_status: Its status is written apart from the rest, by `replace_status` only.
    """

    api_version: str
    name: str
    plural: str
    is_namespaced: bool = True
    has_status: bool = True


NODE = Kind("v1", "Node", "nodes", is_namespaced=False)
POD = Kind("v1", "Pod", "pods")
BINDING = Kind("v1", "Binding", "bindings", has_status=False)
DEPLOYMENT = Kind("apps/v1", "Deployment", "deployments")
CLAIM = Kind("resource.k8s.io/v1", "ResourceClaim", "resourceclaims")
CLAIM_TEMPLATE = Kind(
    "resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates", has_status=False
)
SLICE = Kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices", is_namespaced=False, has_status=False)
TAINT_RULE = Kind("resource.k8s.io/v1", "DeviceTaintRule", "devicetaintrules", is_namespaced=False)
CONFIG_MAP = Kind("v1", "ConfigMap", "configmaps", has_status=False)
LEASE = Kind("coordination.k8s.io/v1", "Lease", "leases", has_status=False)
BUDGET = Kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets")
AUTOSCALER = Kind("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")
FRACTION_PLAN = Kind("foreslice.dev/v1alpha1", "FractionPlan", "fractionplans")
FRACTION_TARGET = Kind("foreslice.dev/v1alpha1", "FractionTarget", "fractiontargets")

KINDS = {
    (kind.api_version, kind.name): kind
    for kind in (
        NODE,
        POD,
        BINDING,
        DEPLOYMENT,
        BUDGET,
        AUTOSCALER,
        CLAIM,
        CLAIM_TEMPLATE,
        SLICE,
        TAINT_RULE,
        CONFIG_MAP,
        LEASE,
        FRACTION_PLAN,
        FRACTION_TARGET,
    )
}


def kind_of(body: Json) -> Kind:
    """Return the kind that an object says it is; `NotModelledError` for any not listed here."""
    named = (body.get("apiVersion", ""), body.get("kind", ""))
    if named not in KINDS:
        raise NotModelledError(f"objects of kind {named[1]!r} in {named[0]!r}")
    return KINDS[named]


class Change(StrEnum):
    """What a watch says about an object."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one object: what it is now, or was last."""

    change: Change
    body: Json


class Api(Protocol):
    """Get, list, watch and write objects.

    Every call may raise `fleet.errors.UnavailableError`; `namespace` is `None` for cluster-wide kinds.
    """

    def get(self, kind: Kind, namespace: str | None, name: str) -> Json | None:
        """Return an object, `None` if it does not exist."""
        ...

    def list(
        self, kind: Kind, namespace: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Sequence[Json]:
        """Return what carries these labels, by namespace and name; of all namespaces if none is given."""
        ...

    def watch(self, kind: Kind, on_event: Callable[[Event], None]) -> None:
        """Report every object that exists as added, then every change, in order, for ever.

        `on_event` is called one event at a time and never inside another call of this interface.
        """
        ...

    def create(self, body: Json) -> Json:
        """Write a new object and return it as stored; `ConflictError` if its name is taken.

        A status of a kind whose status is written apart is dropped. A `Binding` sets its pod's node.
        """
        ...

    def replace(self, body: Json) -> Json:
        """Write everything but the status, on the version that the object carries."""
        ...

    def replace_status(self, body: Json) -> Json:
        """Write the status and nothing else, on the version that the object carries."""
        ...

    def delete(
        self,
        kind: Kind,
        namespace: str | None,
        name: str,
        *,
        uid: str | None = None,
        grace_s: int | None = None,
    ) -> None:
        """Delete an object, if `uid` is given only that one and none that came after it under its name.

        Pods end within their grace, or `grace_s`, and 0 removes what is left of them.
        """
        ...


def timestamp(at_s: float) -> str:
    """Return a time as objects carry it: RFC 3339 in UTC, whole seconds."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
