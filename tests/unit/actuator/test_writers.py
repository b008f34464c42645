"""Who else writes replicas is named with what it does; people's own hands and we are not among them."""

import pytest

from actuator.objects.writers import without_other_fields, writers_of, written_by_hand_at_s
from fleet.writers import Scaler, Writer


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


def scaler(kind, name, low, high):
    """What an autoscaler of these bounds is as a writer."""
    return Scaler(kind, name, low, high, "").writer


def writer(name, does, **more):
    """One who writes replicas, with what its owner changes."""
    return Writer(name, does, is_of_replicas=True, **more)


HPA = scaler("HorizontalPodAutoscaler", "chat", 4, 12)
REPLICAS, IMAGE = ("f:replicas",), ("f:template",)
FOLLOW = "set `way: publish` for the workload, and let InferenceService chat follow the target"
TAKE_OUT = "take spec.replicas out of what {} applies"


@pytest.mark.parametrize(
    ("expected", "given", "autoscalers", "scaled_objects"),
    [
        ((), target(), (), ()),
        ((HPA,), target(), [hpa()], ()),
        ((), target(), [hpa(of="other"), hpa(kind="StatefulSet")], [scaled(of="other")]),
        (
            (scaler("ScaledObject", "by-queue", 0, 100),),
            target(),
            [hpa("keda-hpa-by-queue", owners=[{"kind": "ScaledObject", "name": "by-queue"}])],
            [scaled()],
        ),
        (
            (
                scaler("ScaledObject", "by-queue", 2, 5),
                HPA,
            ),
            target(),
            [hpa()],
            [scaled(minReplicaCount=2, maxReplicaCount=5)],
        ),
        (
            (
                writer(
                    "InferenceService chat",
                    "owns it and writes its spec",
                    fix=FOLLOW,
                ),
            ),
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
            (writer("argocd-controller", "applies spec.replicas", fix=TAKE_OUT.format("argocd-controller")),),
            target(
                [("argocd-controller", "Apply", REPLICAS)],
                annotations={"argocd.argoproj.io/tracking-id": "x"},
            ),
            (),
            (),
        ),
        (
            (writer("helm", "has written spec.replicas", is_lasting=False, fix=TAKE_OUT.format("helm")),),
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


@pytest.mark.parametrize(
    ("expected", "managers"),
    [
        (False, [("helm", "Update", REPLICAS)]),
        (True, [("argocd-controller", "Update", REPLICAS)]),
        (True, [("helm-controller", "Update", REPLICAS)]),
        (True, [("terraform", "Apply", REPLICAS)]),
    ],
)
def test_who_applies_or_is_a_gitops_controller_writes_again(expected, managers):
    [found] = writers_of(target(managers))
    assert expected is found.is_rival


@pytest.mark.parametrize(
    ("expected", "managers"),
    [
        (None, []),
        (None, [("helm", "Update", REPLICAS), ("kubectl", "Update", IMAGE)]),
        (1_750_000_000.0, [("kubectl", "Update", REPLICAS), ("foreslice", "Apply", ())]),
    ],
)
def test_a_person_who_wrote_replicas_last_is_told_with_the_time(expected, managers):
    body = target(managers)
    for entry in body["metadata"]["managedFields"]:
        entry["time"] = "2025-06-15T15:06:40Z"
    assert expected == written_by_hand_at_s(body, 99.0)


def test_what_a_person_scaled_says_no_time_and_is_as_old_as_its_newest_pod():
    assert 99.0 == written_by_hand_at_s(target([("kubectl", "Update", REPLICAS)]), 99.0)


def test_of_managed_fields_what_we_may_write_is_kept_and_nothing_else():
    claims = {"f:resourceClaims": {'k:{"name":"gpu"}': {"f:resourceClaimTemplateName": {}}}}
    body = target([("both", "Apply", ["f:replicas"]), ("image", "Update", IMAGE)])
    body["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:template"] = {
        "f:spec": {**claims, "f:containers": {}}
    }
    [kept] = without_other_fields(body)["managedFields"]
    assert {"f:spec": {"f:replicas": {}, "f:template": {"f:spec": claims}}} == kept["fieldsV1"]
    assert "both" == kept["manager"]
