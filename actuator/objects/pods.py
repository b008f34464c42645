"""What pods say of themselves."""

from __future__ import annotations

import re

from actuator.manifest import Json

DEFAULT_GRACE_S = 30.0
"""Of pods that say nothing (kubernetes api/core/v1 types.go, PodSpec.terminationGracePeriodSeconds)."""

_SLEEP = re.compile(r"\bsleep\s+(\d+)")


def is_over(pod: Json) -> bool:
    """Return whether a pod has ended: it holds nothing any more."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def true_condition(pod: Json, name: str) -> Json | None:
    """Return a condition of a pod, `None` unless it is true."""
    conditions: list[Json] = (pod.get("status") or {}).get("conditions") or []
    return next((c for c in conditions if (c["type"], c["status"]) == (name, "True")), None)


def grace_s(pod_spec: Json) -> float:
    """Return how long pods may still serve once they are told to end, in seconds: what preStop leaves of it.

    The grace period runs from the moment the pod is deleted, and the engine hears of it only when preStop has
    ended (kubernetes pkg/kubelet/kuberuntime/kuberuntime_container.go, killContainer).
    """
    whole_s: float = pod_spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE_S)
    waits_s = (_pre_stop_s(container) for container in pod_spec["containers"])
    return max(0.0, whole_s - max(waits_s, default=0.0))


def _pre_stop_s(container: Json) -> float:
    """Return how long a container sleeps before it ends; what else it does then is not known."""
    hook: Json = (container.get("lifecycle") or {}).get("preStop") or {}
    if "sleep" in hook:
        return float(hook["sleep"]["seconds"])
    words = " ".join((hook.get("exec") or {}).get("command") or ())
    slept = _SLEEP.search(words)
    return float(slept[1]) if slept else 0.0
