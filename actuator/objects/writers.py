"""Who else writes how many replicas a workload has: what two of them write in turn is never at rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from actuator.manifest import FIELD_MANAGER, Json, labels_of

_ONCE = ("kubectl", "k9s")
"""Field managers that people use by hand: they wrote it once, and will not again by themselves."""

AUTOSCALER = "kube-controller-manager"
"""Manager under which a HorizontalPodAutoscaler scales: it writes once each time, and will again."""

_MARKS = (
    ("argocd.argoproj.io/tracking-id", "Argo CD"),
    ("argocd.argoproj.io/instance", "Argo CD"),
    ("kustomize.toolkit.fluxcd.io/name", "Flux"),
    ("helm.toolkit.fluxcd.io/name", "Flux"),
)
"""Labels and annotations by which GitOps controllers mark what they apply: Argo CD docs,
user-guide/resource_tracking; Flux docs, components/kustomize and components/helm."""


@dataclass(frozen=True, slots=True)
class Writer:
    """One who writes replicas, or applies the object.

    Attributes:
        name: What a person would look for, such as `HorizontalPodAutoscaler chat`.
        does: What it does to replicas.
        is_of_replicas: Whether it writes replicas again and again; else it applies the object without them.
        bounds: Fewest and most replicas that it sets, where it says so.
    """

    name: str
    does: str
    is_of_replicas: bool
    bounds: tuple[int, int] | None = None


def writers_of(
    target: Json, autoscalers: Sequence[Json], scaled_objects: Sequence[Json]
) -> tuple[Writer, ...]:
    """Return everybody but us and people's own hands who writes the target's replicas.

    Args:
        target: Deployment, StatefulSet or the like.
        autoscalers: HorizontalPodAutoscalers of its namespace.
        scaled_objects: KEDA's ScaledObjects of its namespace; the autoscalers that these keep are left out.
    """
    found = [*_scalers(target, autoscalers, scaled_objects), *_owners(target)]
    appliers = dict(_appliers(target))
    found += [
        Writer(name, f"{verb} spec.replicas", is_of_replicas=True) for name, verb in sorted(appliers.items())
    ]
    marks = {**(target["metadata"].get("annotations") or {}), **labels_of(target)}
    for tool in dict.fromkeys(tool for mark, tool in _MARKS if mark in marks):
        if not appliers:
            found.append(Writer(tool, "applies it, without spec.replicas so far", is_of_replicas=False))
    return tuple(found)


def _scalers(target: Json, autoscalers: Iterable[Json], scaled_objects: Iterable[Json]) -> Iterator[Writer]:
    for body in scaled_objects:
        if _is_target(body["spec"]["scaleTargetRef"], target):
            # KEDA's defaults (kedacore/keda, apis/keda/v1alpha1/scaledobject_types.go).
            low, high = body["spec"].get("minReplicaCount", 0), body["spec"].get("maxReplicaCount", 100)
            yield _scaler("ScaledObject", body, low, high)
    for body in autoscalers:
        is_kept = any(
            owner["kind"] == "ScaledObject" for owner in body["metadata"].get("ownerReferences") or ()
        )
        if not is_kept and _is_target(body["spec"]["scaleTargetRef"], target):
            yield _scaler(
                "HorizontalPodAutoscaler",
                body,
                body["spec"].get("minReplicas", 1),
                body["spec"]["maxReplicas"],
            )


def _scaler(kind: str, body: Json, low: int, high: int) -> Writer:
    name = f"{kind} {body['metadata']['name']}"
    return Writer(name, f"sets {low} to {high} replicas", is_of_replicas=True, bounds=(low, high))


def _is_target(reference: Json, target: Json) -> bool:
    kind = reference.get("kind", "Deployment")
    return bool((kind, reference["name"]) == (target["kind"], target["metadata"]["name"]))


def _owners(target: Json) -> Iterator[Writer]:
    for owner in target["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            yield Writer(
                f"{owner['kind']} {owner['name']}", "owns it and writes its spec", is_of_replicas=True
            )


def _appliers(target: Json) -> Iterator[tuple[str, str]]:
    """Yield field managers of `spec.replicas` that may write it again, and what they did."""
    for entry in target["metadata"].get("managedFields") or ():
        # Autoscalers are listed by themselves.
        manager = entry.get("manager", "")
        is_ours_or_once = manager == FIELD_MANAGER or manager.startswith((*_ONCE, AUTOSCALER))
        if not is_ours_or_once and "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {}):
            yield manager, "applies" if entry.get("operation") == "Apply" else "has written"
