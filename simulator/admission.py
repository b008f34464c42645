"""What the API server of the embedded world refuses, and when what was deleted may go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet.errors import RefusedError
from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, POD, Json, Kind
from simulator.errors import NotModelledError

# What the server alone writes; whatever a client sends for these is put back (k8s.io/apimachinery
# ObjectMeta: "Populated by the system. Read-only").
SYSTEM_FIELDS = (
    "uid",
    "creationTimestamp",
    "generation",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_DEFAULT_GRACE_S = 30  # v1.PodSpec terminationGracePeriodSeconds


def refuse_immutable(kind: Kind, called: str) -> None:
    """Raise if a kind's spec is fixed for life (kubernetes pkg/apis/resource/validation, v1.37)."""
    if kind in (CLAIM, CLAIM_TEMPLATE):
        raise RefusedError(f"{called} is invalid: spec: field is immutable")
    if kind is POD:
        raise NotModelledError(f"a change of the spec of {called}")


def refuse_invalid(kind: Kind, called: str, body: Json) -> None:
    """Raise for what callers here may get wrong; this is no schema."""
    if kind is DEPLOYMENT:
        spec = body["spec"]
        labels = spec["template"]["metadata"].get("labels", {})
        if spec.get("replicas", 1) < 0:
            raise RefusedError(f"{called} is invalid: spec.replicas: must be at least 0")
        if not spec["selector"].get("matchLabels", {}).items() <= labels.items():
            raise RefusedError(f"{called} is invalid: spec.template: labels do not match the selector")


def granted_s(kind: Kind, body: Json, asked_s: int | None) -> int:
    """Seconds until an object may go: a pod that no node has seen has nothing to wind up."""
    if kind is not POD or not body["spec"].get("nodeName"):
        return 0
    if asked_s is not None:
        return asked_s
    return int(body["spec"].get("terminationGracePeriodSeconds", _DEFAULT_GRACE_S))


def is_spent(metadata: Mapping[str, Any]) -> bool:
    """Whether nothing holds a deleted object any more."""
    is_over = "deletionTimestamp" in metadata and metadata["deletionGracePeriodSeconds"] == 0
    return is_over and not metadata.get("finalizers")
