"""Reads from objects who else writes how many replicas a workload has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from actuator.manifest import FIELD_MANAGER, Json, by_namespace, key_of, labels_of, seconds_of, version_of
from fleet.writers import Scaler, Writer

_BY_HAND = ("kubectl", "k9s")
"""Field managers that people use: they wrote it once, and will not again by themselves."""

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

GITOPS = ("argocd-", "kustomize-controller", "helm-controller")
"""Beginnings of the field managers of GitOps controllers: whatever the operation, they write again (argo-cd
common/common.go ArgoCDSSAManager; Flux's controllers go by their own names)."""


def writers_of(
    target: Json, autoscalers: Iterable[Json] = (), scaled_objects: Iterable[Json] = ()
) -> tuple[Writer, ...]:
    """Return everybody but us and people's own hands who writes the target's replicas, or applies it.

    Args:
        target: Deployment, StatefulSet or the like.
        autoscalers: HorizontalPodAutoscalers of its namespace.
        scaled_objects: KEDA's ScaledObjects of its namespace; the autoscalers that these keep are left out.
    """
    found = [scaler.writer for scaler in scalers_of(target, autoscalers, scaled_objects)]
    found += _owners(target)
    appliers = sorted(_appliers(target), key=lambda writer: writer.name)
    found += appliers
    marks = {**(target["metadata"].get("annotations") or {}), **labels_of(target)}
    for tool in dict.fromkeys(tool for mark, tool in _MARKS if mark in marks):
        if not appliers:
            found.append(Writer(tool, "applies it, without spec.replicas so far", is_of_replicas=False))
    return tuple(found)


def scalers_of(
    target: Json, autoscalers: Iterable[Json], scaled_objects: Iterable[Json] = ()
) -> tuple[Scaler, ...]:
    """Return what sets the target's replicas by load: KEDA's ScaledObjects, then other autoscalers."""
    found = []
    for body in scaled_objects:
        if _is_target(body["spec"]["scaleTargetRef"], target):
            # KEDA's defaults (kedacore/keda, apis/keda/v1alpha1/scaledobject_types.go).
            low, high = body["spec"].get("minReplicaCount", 0), body["spec"].get("maxReplicaCount", 100)
            found.append(_scaler("ScaledObject", body, low, high))
    for body in autoscalers:
        is_kept = any(
            owner["kind"] == "ScaledObject" for owner in body["metadata"].get("ownerReferences") or ()
        )
        if not is_kept and _is_target(body["spec"]["scaleTargetRef"], target):
            low, high = body["spec"].get("minReplicas", 1), body["spec"]["maxReplicas"]
            found.append(_scaler("HorizontalPodAutoscaler", body, low, high))
    return tuple(found)


class Scalings:
    """What sets replicas by load, looked up by what it scales.

    Args:
        autoscalers: HorizontalPodAutoscalers.
        scaled_objects: KEDA's ScaledObjects.
    """

    def __init__(self, autoscalers: Iterable[Json] = (), scaled_objects: Iterable[Json] = ()) -> None:
        self._autoscalers = by_namespace(autoscalers)
        self._scaled_objects = by_namespace(scaled_objects)

    def of(self, target: Json) -> tuple[Scaler, ...]:
        """Return what sets the target's replicas."""
        namespace = key_of(target).namespace
        return scalers_of(target, self._autoscalers[namespace], self._scaled_objects[namespace])


def written_by_hand_at_s(target: Json, newest_pod_s: float) -> float | None:
    """Return when a person last wrote the target's replicas, `None` unless that is who wrote them last.

    Whoever writes a value takes the field from those who had it, so that one who still has it wrote it last.
    What was written through the scale subresource carries no time (Kubernetes 1.37); then it is as old as the
    newest pod.
    """
    times = [
        seconds_of(entry["time"]) if "time" in entry else newest_pod_s
        for entry in _of_replicas(target)
        if entry.get("manager", "").startswith(_BY_HAND)
    ]
    return max(times, default=None)


def keepers_of_template(target: Json, claim: str) -> tuple[str, ...]:
    """Return the managers that will again write from which template the pods' claim of a name is made.

    Whoever applies it does, people too: their next apply would meet a conflict.
    """
    field = f'k:{{"name":"{claim}"}}'
    keepers = (
        str(entry.get("manager", ""))
        for entry in _entries(target)
        if "f:resourceClaimTemplateName" in (_claims_in(entry).get(field) or {})
        and (entry.get("operation") == "Apply" or entry.get("manager", "").startswith(GITOPS))
    )
    return tuple(sorted({keeper for keeper in keepers if keeper != FIELD_MANAGER}))


def without_other_fields(target: Json) -> Json:
    """Return an object's metadata whose `managedFields` say who writes what we may, and nothing else."""
    entries = []
    for entry in _entries(target):
        kept: Json = {"f:replicas": {}} if _has_replicas(entry) else {}
        if claims := _claims_in(entry):
            kept["f:template"] = {"f:spec": {"f:resourceClaims": claims}}
        if kept:
            entries.append({**entry, "fieldsV1": {"f:spec": kept}})
    return {**target["metadata"], "managedFields": entries}


def _scaler(kind: str, body: Json, low: int, high: int) -> Scaler:
    return Scaler(kind, body["metadata"]["name"], low, high, version_of(body))


def _is_target(reference: Json, target: Json) -> bool:
    kind = reference.get("kind", "Deployment")
    return bool((kind, reference["name"]) == (target["kind"], target["metadata"]["name"]))


def _owners(target: Json) -> Iterator[Writer]:
    for owner in target["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            name = f"{owner['kind']} {owner['name']}"
            fix = f"set `way: publish` for the workload, and let {name} follow the target"
            yield Writer(name, "owns it and writes its spec", is_of_replicas=True, fix=fix)


def _appliers(target: Json) -> Iterator[Writer]:
    """Yield field managers of `spec.replicas` that may write it again."""
    seen = set()
    for entry in _of_replicas(target):
        # Autoscalers are listed by themselves.
        manager = entry.get("manager", "")
        if manager in seen or manager == FIELD_MANAGER or manager.startswith((*_BY_HAND, AUTOSCALER)):
            continue
        seen.add(manager)
        applies = entry.get("operation") == "Apply"
        yield Writer(
            manager,
            f"{'applies' if applies else 'has written'} spec.replicas",
            is_of_replicas=True,
            is_lasting=applies or manager.startswith(GITOPS),
            fix=f"take spec.replicas out of what {manager} applies",
        )


def _of_replicas(target: Json) -> Iterator[Json]:
    return (entry for entry in _entries(target) if _has_replicas(entry))


def _entries(target: Json) -> Iterable[Json]:
    return target["metadata"].get("managedFields") or ()


def _spec_in(entry: Json) -> Json:
    spec: Json = (entry.get("fieldsV1") or {}).get("f:spec") or {}
    return spec


def _has_replicas(entry: Json) -> bool:
    return "f:replicas" in _spec_in(entry)


def _claims_in(entry: Json) -> Json:
    """Return what an entry says of the claims of a pod template."""
    of_pods: Json = (_spec_in(entry).get("f:template") or {}).get("f:spec") or {}
    return of_pods.get("f:resourceClaims") or {}
