"""What agents read from pods and their claims, and the conditions that they write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.api import Json, timestamp

DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"
"""Finalizer of a ResourceClaim while it is allocated."""

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a ResourceClaim made for a pod: the name by which the pod calls it."""


def condition(body: Json, name: str) -> Json | None:
    """Return a condition of an object's status, `None` if nobody wrote it."""
    conditions = body.get("status", {}).get("conditions", ())
    return next((c for c in conditions if c["type"] == name), None)


def is_ready(pod: Json) -> bool:
    """Return whether a pod says that it serves."""
    ready = condition(pod, "Ready")
    return ready is not None and ready["status"] == "True"


def is_let(pod: Json) -> bool:
    """Return whether all readiness gates of a pod are open (kubernetes pkg/kubelet/status/generate.go)."""
    gates = (condition(pod, gate["conditionType"]) for gate in pod["spec"].get("readinessGates", ()))
    return all(gate is not None and gate["status"] == "True" for gate in gates)


def is_leaving(pod: Json) -> bool:
    """Return whether a pod was told to end."""
    return "deletionTimestamp" in pod["metadata"]


def claim_names(pod: Json) -> Mapping[str, str | None]:
    """Return the ResourceClaim by the name that the pod gives it; `None` while it is still to be made."""
    statuses = pod.get("status", {}).get("resourceClaimStatuses", ())
    made = {entry["name"]: entry["resourceClaimName"] for entry in statuses}
    return {
        entry["name"]: entry.get("resourceClaimName") or made.get(entry["name"])
        for entry in pod["spec"].get("resourceClaims", ())
    }


def with_condition(
    status: Mapping[str, Any], name: str, *, is_true: bool, at_s: float, reason: str = "", message: str = ""
) -> Json:
    """Return a status with one condition set; its transition time moves only when its value does."""
    others = [c for c in status.get("conditions", ()) if c["type"] != name]
    old = next((c for c in status.get("conditions", ()) if c["type"] == name), None)
    new = {"type": name, "status": str(is_true), "lastTransitionTime": timestamp(at_s)}
    if old is not None and old["status"] == new["status"]:
        new["lastTransitionTime"] = old["lastTransitionTime"]
    new |= {key: text for key, text in (("reason", reason), ("message", message)) if text}
    return {**status, "conditions": [*others, new]}


def container_statuses(pod: Json, *, is_ready: bool, at_s: float) -> list[Json]:
    """Return what a kubelet says of a pod's containers, all running; when they started stays as it was."""
    known = {each["name"]: each for each in pod.get("status", {}).get("containerStatuses", ())}
    return [
        {
            "name": container["name"],
            "image": container.get("image", ""),
            "imageID": "",
            "ready": is_ready,
            "started": is_ready,
            "restartCount": 0,
            "state": known.get(container["name"], {}).get("state")
            or {"running": {"startedAt": timestamp(at_s)}},
        }
        for container in pod["spec"]["containers"]
    ]
