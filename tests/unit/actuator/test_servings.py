"""What serves on GPUs, with its pods; copies that we keep are not workloads of their own."""

from actuator.manifest import VARIANT_LABEL
from actuator.objects.servings import Objects, servings_of
from fleet.workload import WorkloadKey

GPU = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
READY = {"conditions": [{"type": "Ready", "status": "True"}]}


def template(labels, **container):
    return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "engine", **container}]}}


def body(kind, name, labels=None, namespace="llm", container=GPU, **spec):
    labels = labels or {"app": name}
    return {
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": template(labels, **container),
            **spec,
        },
    }


def pod(name, labels, namespace="llm", status=READY, **meta):
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels, **meta}, "status": status}


def names(servings):
    return [f"{serving.kind} {serving.key}" for serving in servings]


def test_only_what_holds_a_gpu_serves_on_one():
    objects = Objects(
        deployments=[body("Deployment", "chat"), body("Deployment", "web", container={})],
        stateful_sets=[body("StatefulSet", "embed", namespace="search")],
    )
    assert ["Deployment llm/chat", "StatefulSet search/embed"] == names(servings_of(objects))


def test_pods_are_those_that_the_selector_takes_and_have_not_ended():
    app = {"app": "chat"}
    objects = Objects(
        deployments=[body("Deployment", "chat")],
        pods=[
            pod("chat-0", app),
            pod("chat-1", app, status={"phase": "Running"}),
            pod("chat-2", app, deletionTimestamp="2026-03-01T00:00:00Z"),
            pod("chat-3", app, status={"phase": "Failed"}),
            pod("web-0", {"app": "web"}),
            pod("chat-0", app, namespace="other"),
        ],
    )
    [chat] = servings_of(objects)
    assert (WorkloadKey("llm", "chat"), 2, "default-scheduler", ()) == (
        chat.key,
        chat.replicas,
        chat.scheduler,
        chat.writers,
    )
    assert {"chat-0", "chat-1", "chat-2"} == chat.pods
    assert {"chat-0"} == chat.ready


def test_a_copy_of_ours_is_its_base_s():
    labels = {"app": "chat", VARIANT_LABEL: "chat-3g"}
    objects = Objects(
        deployments=[body("Deployment", "chat"), body("Deployment", "chat-3g", labels)],
        pods=[pod("chat-3g-0", labels)],
    )
    [chat] = servings_of(objects)
    assert ("chat", {"chat-3g-0"}) == (chat.key.name, chat.ready)


def test_a_group_of_pods_serves_by_its_leader():
    group = {
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "big", "namespace": "llm"},
        "spec": {"replicas": 1, "leaderWorkerTemplate": {"workerTemplate": template({}, **GPU)}},
    }
    ofs = "leaderworkerset.sigs.k8s.io/"
    objects = Objects(
        leader_worker_sets=[group],
        pods=[
            pod(f"big-0-{index}", {f"{ofs}name": "big", f"{ofs}worker-index": str(index)})
            for index in range(3)
        ],
    )
    [big] = servings_of(objects)
    assert {"big-0-0", "big-0-1", "big-0-2"} == big.pods
    assert {"big-0-0"} == big.ready


def service(name, selector, namespace="llm"):
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}


def test_services_are_those_that_select_its_pods_whether_there_are_any():
    labels = {"app": "chat", "shape": "half"}
    objects = Objects(
        deployments=[body("Deployment", "half", labels, replicas=0)],
        services=[
            service("chat", {"app": "chat"}),
            service("halves", labels),
            service("wholes", {"app": "chat", "shape": "whole"}),
            service("chat-far", {"app": "chat"}, namespace="other"),
            service("by-hand", None),
            {"metadata": {"name": "elsewhere", "namespace": "llm"}, "spec": {"externalName": "x"}},
        ],
    )
    [half] = servings_of(objects)
    assert {"chat", "halves"} == half.services
