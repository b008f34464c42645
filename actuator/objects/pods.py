"""What pods say of themselves."""

from __future__ import annotations

from actuator.manifest import Json


def is_over(pod: Json) -> bool:
    """Return whether a pod has ended: it holds nothing any more."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def true_condition(pod: Json, name: str) -> Json | None:
    """Return a condition of a pod, `None` unless it is true."""
    conditions: list[Json] = (pod.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if (c["type"], c["status"]) == (name, "True")), None)
