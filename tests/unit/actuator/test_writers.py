"""Who else writes replicas is named with what it does; people's own hands and we are not among them."""

import pytest

from actuator.objects.writers import Writer, writers_of


def target(managers=(), labels=None, annotations=None, owners=(), kind="Deployment"):
    """A Deployment `chat`; each manager is (name, operation, fields of spec)."""
    return {
        "kind": kind,
        "metadata": {
            "name": "chat",
            "namespace": "llm",
            "labels": labels or {},
            "annotations": annotations or {},
            "ownerReferences": list(owners),
            "managedFields": [
                {"manager": name, "operation": operation, "fieldsV1": {"f:spec": {key: {} for key in fields}}}
                for name, operation, fields in managers
            ],
        },
    }


def hpa(name="chat", low=4, high=12, kind="Deployment", of="chat", owners=()):
    return {
        "metadata": {"name": name, "ownerReferences": list(owners)},
        "spec": {"scaleTargetRef": {"kind": kind, "name": of}, "minReplicas": low, "maxReplicas": high},
    }


def scaled(of="chat", **spec):
    return {"metadata": {"name": "by-queue"}, "spec": {"scaleTargetRef": {"name": of}, **spec}}


HPA = Writer("HorizontalPodAutoscaler chat", "sets 4 to 12 replicas", is_of_replicas=True, bounds=(4, 12))
REPLICAS, IMAGE = ("f:replicas",), ("f:template",)


@pytest.mark.parametrize(
    ("expected", "given", "autoscalers", "scaled_objects"),
    [
        ((), target(), (), ()),
        ((HPA,), target(), [hpa()], ()),
        ((), target(), [hpa(of="other"), hpa(kind="StatefulSet")], [scaled(of="other")]),
        (
            (
                Writer(
                    "ScaledObject by-queue", "sets 0 to 100 replicas", is_of_replicas=True, bounds=(0, 100)
                ),
            ),
            target(),
            [hpa("keda-hpa-by-queue", owners=[{"kind": "ScaledObject", "name": "by-queue"}])],
            [scaled()],
        ),
        (
            (
                Writer("ScaledObject by-queue", "sets 2 to 5 replicas", is_of_replicas=True, bounds=(2, 5)),
                HPA,
            ),
            target(),
            [hpa()],
            [scaled(minReplicaCount=2, maxReplicaCount=5)],
        ),
        (
            (Writer("InferenceService chat", "owns it and writes its spec", is_of_replicas=True),),
            target(
                owners=[
                    {"kind": "InferenceService", "name": "chat", "controller": True},
                    {"kind": "ConfigMap", "name": "x"},
                ]
            ),
            (),
            (),
        ),
        (
            (Writer("argocd-controller", "applies spec.replicas", is_of_replicas=True),),
            target(
                [("argocd-controller", "Apply", REPLICAS)],
                annotations={"argocd.argoproj.io/tracking-id": "x"},
            ),
            (),
            (),
        ),
        (
            (Writer("helm", "has written spec.replicas", is_of_replicas=True),),
            target([("helm", "Update", REPLICAS)]),
            (),
            (),
        ),
        (
            (Writer("Flux", "applies it, without spec.replicas so far", is_of_replicas=False),),
            target(
                [("kustomize-controller", "Apply", IMAGE)],
                labels={"kustomize.toolkit.fluxcd.io/name": "apps"},
            ),
            (),
            (),
        ),
        (
            (),
            target(
                [
                    ("kubectl-client-side-apply", "Update", REPLICAS),
                    ("kube-controller-manager", "Update", REPLICAS),
                    ("foreslice", "Apply", REPLICAS),
                ]
            ),
            (),
            (),
        ),
    ],
    ids=[
        "nobody",
        "autoscaler",
        "autoscalers of others",
        "KEDA, and not the autoscaler that it keeps",
        "both",
        "owner",
        "Argo CD",
        "Helm",
        "Flux without replicas",
        "people and ourselves",
    ],
)
def test_who_else_writes(expected, given, autoscalers, scaled_objects):
    assert expected == writers_of(given, autoscalers, scaled_objects)
