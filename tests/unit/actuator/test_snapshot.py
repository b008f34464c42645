"""The fleet out of one consistent set of objects."""

from dataclasses import replace

import pytest

from actuator.manifest import VARIANT_LABEL
from actuator.mechanisms.device_plugin import PRODUCT_LABEL
from actuator.objects.history import PlanReader
from actuator.objects.plans import plan_of, status_of
from actuator.objects.queued import QUEUE
from actuator.objects.readers import Readers
from actuator.objects.snapshot import Snapshot, fleet_of
from actuator.ports import StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from tests.fakes.manifests import claim, claim_spec, deployment, h100_slices, pod, request, template
from tests.unit.actuator.test_groups import groups, member
from tests.unit.actuator.test_plugged import node

LLAMA, MISTRAL = WorkloadKey("llm", "llama"), WorkloadKey("llm", "mistral")
LARGE, SMALL = Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb", "1g.10gb")


def snapshot(**parts):
    defaults = {
        "slices": h100_slices(gpus=2),
        "claims": [claim("a-gpus", "gpu-0-mig-3g40gb-9-4"), claim("x", "gpu-1", namespace="other")],
        "deployments": [deployment(), deployment("mistral", "no-such-template")],
        "templates": [template("mig-3g")],
        "pods": [pod("a")],
        "plans": [],
    }
    return Snapshot("42", **{**defaults, **parts})


def fleet(workloads=(LLAMA,), **parts):
    return fleet_of(snapshot(**parts), workloads, Readers())


def plan(*states, goal=SMALL, at_s=100.0, target=LLAMA):
    steps = tuple(Step(Verb.SCALE_UP, "llama", goal, number, None, "why") for number in range(len(states)))
    change = ChangeSet(target, Configuration({LARGE: 1}), Configuration({goal: 1}), steps, at_s)
    body = plan_of(change)
    body["status"] = status_of(StepRecord(state, at_s + i) for i, state in enumerate(states))
    return body


def test_cards_pools_and_allocations_of_everybody_are_there():
    seen = fleet()

    assert ("42", 2, 1) == (seen.version, len(seen.gpus), len(seen.pools))
    assert ["gpu-0-mig-3g40gb-9-4", "gpu-1"] == [device.name for device in seen.allocated]
    assert 2 == seen.gpus_in_use


def test_only_workloads_that_were_asked_for_have_standings():
    assert [LLAMA] == [standing.key for standing in fleet().standings]
    assert () == fleet(workloads=()).standings


def test_a_workload_that_is_not_in_the_cluster_is_left_out():
    seen = fleet(workloads=(WorkloadKey("llm", "gone"), LLAMA))

    assert [LLAMA] == [standing.key for standing in seen.standings]
    assert {} == seen.refused


def test_a_workload_that_cannot_be_handled_is_named_and_hides_no_other():
    seen = fleet(workloads=(MISTRAL, LLAMA))

    assert [LLAMA] == [standing.key for standing in seen.standings]
    assert {
        MISTRAL: "Deployment mistral: exactly one claim template must ask for a GPU, found 0"
    } == seen.refused


def test_the_reader_is_used_from_one_view_to_the_next():
    readers = Readers()
    views = [fleet_of(snapshot(), [LLAMA], readers) for _ in range(2)]

    assert views[0].pools is views[1].pools
    assert views[0].standings[0] is views[1].standings[0]


def test_pods_of_others_count_in_the_queue_that_they_name_and_ours_by_what_they_run_on():
    def in_queue(body):
        body["metadata"]["labels"][QUEUE] = "team"
        engine = {"name": "vllm", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
        return {**body, "spec": {"nodeName": "node-h100-dynamic", "containers": [engine]}}

    pods = [in_queue(pod("a")), in_queue(pod("b", app="foreign")), pod("c", app="foreign")]

    assert {"team": 1.0} == fleet(pods=pods).queued
    assert {} == fleet(pods=[pods[0], pods[2]]).queued


UNREADABLE = {
    "a pod": {"pods": [pod("b"), {**pod("a"), "spec": {"nodeName": "n", "containers": [{"resources": 7}]}}]},
    "a claim": {"claims": [{**claim("a-gpus", "gpu-1"), "status": {"allocation": {"devices": 7}}}]},
    "a claim of others": {"claims": [{**claim("x", "gpu-1"), "status": {"allocation": {"devices": 7}}}]},
    "a Deployment": {"deployments": [deployment(ownerReferences=[{"kind": "none"}])]},
    "a plan": {"plans": [{**plan(StepState.DONE), "spec": {"target": {"name": "llama"}}}]},
}


@pytest.mark.parametrize("broken", UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_is_not_passed_over_the_next_time(broken):
    readers = Readers()
    fleet_of(snapshot(), [LLAMA], readers)
    broken = snapshot(**broken)
    for _ in range(2):
        with pytest.raises((AttributeError, KeyError)):
            fleet_of(broken, [LLAMA], readers)

    assert fleet() == fleet_of(snapshot(), [LLAMA], readers)


BUDGET = {
    "metadata": {"name": "calm", "namespace": "llm"},
    "spec": {"selector": {}},
    "status": {"disruptionsAllowed": 0},
}
SCALER = {
    "metadata": {"name": "wide", "namespace": "llm"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama"},
        "maxReplicas": 4,
    },
}
COPY = deployment(
    "llama-copy",
    ownerReferences=[{"kind": "Deployment", "uid": "uid-llama"}],
    labels={VARIANT_LABEL: "llama-copy"},
)
COPY["spec"]["selector"]["matchLabels"][VARIANT_LABEL] = "llama-copy"
CHANGES = {
    "a pod is not ready any more": {"pods": [pod("a", ready=False)]},
    "a pod comes": {"pods": [pod("a"), pod("b")]},
    "a pod goes": {"pods": []},
    "a claim has another device": {"claims": [claim("a-gpus", "gpu-1-mig-3g40gb-9-4")]},
    "a claim goes": {"claims": []},
    "more replicas are asked for": {"deployments": [deployment(replicas=3)]},
    "a copy comes": {"deployments": [deployment(), COPY]},
    "the Deployment goes": {"deployments": []},
    "a template asks for something else": {
        "templates": [template("mig-3g", claim_spec(request(profile="1g.10gb")))]
    },
    "a plan is begun": {"plans": [plan(StepState.PENDING)]},
    "a budget comes": {"budgets": [BUDGET]},
    "a scaler comes": {"autoscalers": [SCALER]},
    "cards come": {"slices": h100_slices(node="other")},
    "one that was refused can be handled": {"deployments": [deployment("mistral")]},
}


def pair(**worker):
    """A group of two pods on a card each."""
    members = [member(0, 0), member(0, 1, **worker)]
    return {
        "slices": h100_slices(gpus=4),
        "deployments": [groups()],
        "templates": [template("whole", claim_spec(request("gpu.nvidia.com", None)))],
        "pods": [pod for pod, _ in members],
        "claims": [claim for _, claim in members],
    }


def workers_ask(profile):
    """A group whose leader asks for a card, and its workers for this."""
    device_class = "gpu.nvidia.com" if profile is None else "mig.nvidia.com"
    asked = template("workers", claim_spec(request(device_class, profile)))
    made = {"deployments": [groups(of="workers", leader="whole")], "pods": [], "claims": []}
    return {**made, "templates": [*pair()["templates"], asked]}


def by_plugin(cards):
    """A Deployment on the cards of a device plugin."""
    body = deployment()
    engine = {"name": "vllm", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    body["spec"]["template"]["spec"] = {"containers": [engine]}
    return {"deployments": [body], "pods": [], "nodes": [node(gpu=cards)]}


def tainted(*taints):
    """The node of the cards, with these taints."""
    return {"nodes": [{"metadata": {"name": "node-h100-dynamic"}, "spec": {"taints": list(taints)}}]}


TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def naming(*claims):
    """A Deployment whose pods name a claim beside their own, and what claims there are."""
    body = deployment()
    body["spec"]["template"]["spec"]["resourceClaims"].append({"name": "too", "resourceClaimName": "of-all"})
    return {"deployments": [body], "claims": list(claims)}


FROM_TO = {
    "a claim that pods name turns out to be for a GPU": (naming(), naming(claim("of-all"))),
    "a worker of a group is not ready any more": (pair(), pair(ready=False)),
    "workers of a group ask for something else": (workers_ask(None), workers_ask("3g.40gb")),
    "a node lets pods in no more": (tainted(), tainted(TAINT)),
    "a device plugin offers nothing any more": (by_plugin(1), {**by_plugin(1), "nodes": []}),
    **{what: ({}, now) for what, now in CHANGES.items()},
}


@pytest.mark.parametrize(("was", "now"), FROM_TO.values(), ids=FROM_TO)
def test_whatever_changes_is_seen_by_readers_that_saw_what_was_before(was, now):
    readers = Readers()
    before = fleet_of(snapshot(**was), [LLAMA, MISTRAL], readers)
    after = fleet_of(snapshot(**now), [LLAMA, MISTRAL], readers)

    assert fleet_of(snapshot(**now), [LLAMA, MISTRAL], Readers()) == after
    assert (before.standings, before.refused) != (after.standings, after.refused)


HISTORY = {
    "no plans": ([], (None, None, None)),
    "a plan that is not begun": ([plan(StepState.PENDING)], (None, None, SMALL)),
    "a plan under way": ([plan(StepState.DONE, StepState.CLAIMED)], (100.0, 100.0, SMALL)),
    "a plan that is done": ([plan(StepState.DONE, StepState.DONE)], (101.0, 101.0, None)),
    "more of the same shape": ([plan(StepState.DONE, goal=LARGE)], (100.0, None, None)),
    "steps that failed changed nothing": ([plan(StepState.FAILED, StepState.SUPERSEDED)], (None, None, None)),
    "the newest counts": (
        [plan(StepState.DONE, at_s=100.0), plan(StepState.DONE, goal=LARGE, at_s=500.0)],
        (500.0, 100.0, None),
    ),
    "of two open plans the newer one leads": (
        [plan(StepState.PENDING, at_s=100.0), plan(StepState.PENDING, goal=LARGE, at_s=500.0)],
        (None, None, LARGE),
    ),
    "another workload's plan": ([plan(StepState.DONE, target=MISTRAL)], (None, None, None)),
}


@pytest.mark.parametrize(("plans", "expected"), HISTORY.values(), ids=HISTORY)
def test_what_plans_say_of_the_past_and_of_what_is_under_way(plans, expected):
    [standing] = fleet(plans=plans).standings

    going = None if expected[2] is None else Configuration({expected[2]: 1})
    assert (expected[0], expected[1], going) == (
        standing.changed_at_s,
        standing.reshaped_at_s,
        standing.moving_to,
    )


def test_plans_are_kept_apart_by_target_and_newest_first():
    plans = [plan(StepState.DONE), plan(StepState.DONE, goal=LARGE, at_s=500.0), plan(target=MISTRAL)]

    found = PlanReader().read(plans)

    assert [500.0, 100.0] == [record.change.decided_at_s for record in found[LLAMA].records]
    assert 1 == len(found[MISTRAL].records)


def versioned(body, version):
    return {**body, "metadata": {**body["metadata"], "resourceVersion": version}}


def test_plans_that_did_not_change_are_not_read_again():
    reader = PlanReader()
    ours, other = versioned(plan(StepState.PENDING), "1"), versioned(plan(target=MISTRAL), "2")
    before = reader.read([ours, other])
    after = reader.read([versioned(plan(StepState.DONE), "3"), other])

    assert before[MISTRAL] is after[MISTRAL]
    assert (None, 100.0) == (before[LLAMA].changed_at_s, after[LLAMA].changed_at_s)


def test_a_plan_is_read_once_until_it_changes():
    reader, first = PlanReader(), versioned(plan(StepState.PENDING), "1")
    record = reader.record(first)
    changed = reader.record(versioned(plan(StepState.DONE), "2"))

    assert record is reader.record(first)
    assert [StepState.PENDING, StepState.DONE] == [one.steps[0].state for one in (record, changed)]


def test_plans_that_are_gone_are_no_longer_known():
    reader = PlanReader()
    reader.read([plan(StepState.DONE)])

    assert {} == reader.read([])


def test_an_incomplete_pool_leaves_the_workload_unhandled_rather_than_wrong():
    seen = fleet(slices=h100_slices(gpus=2)[:2])

    assert () == seen.standings
    assert "no card of the fleet offers" in seen.refused[LLAMA]


def test_a_view_does_not_depend_on_the_order_of_objects():
    forward = snapshot()
    backward = replace(
        forward, **{name: list(getattr(forward, name))[::-1] for name in ("slices", "deployments", "pods")}
    )

    assert fleet_of(forward, [LLAMA], Readers()) == fleet_of(backward, [LLAMA], Readers())


@pytest.mark.parametrize(("tolerates", "closed"), [((), {"node-h100-dynamic"}), ((TAINT,), set())])
def test_nodes_that_do_not_let_its_pods_in_are_closed_to_it_and_to_copies_yet_to_be_made(tolerates, closed):
    base = deployment()
    base["spec"]["template"]["spec"]["tolerations"] = list(tolerates)
    seen = fleet(deployments=[base], **tainted(TAINT)).standing(LLAMA)

    assert closed == seen.pods(LARGE).closed == seen.pods(SMALL).closed


@pytest.mark.parametrize(("newest", "closed"), [("b", set()), ("a", {"node-h100-dynamic"})])
def test_what_admission_let_the_newest_pod_tolerate_counts(newest, closed):
    """Some clusters taint nodes with GPUs, and let pods that ask for one tolerate that."""
    pods = [pod("a"), pod("b")]
    pods[1]["spec"]["tolerations"] = [TAINT]
    for each in pods:
        each["metadata"]["creationTimestamp"] = (
            f"2026-01-0{1 + (each['metadata']['name'] == newest)}T00:00:00Z"
        )
    seen = fleet(pods=pods, **tainted(TAINT)).standing(LLAMA)
    assert closed == seen.pods(LARGE).closed == seen.pods(SMALL).closed


def test_a_base_that_names_the_product_of_its_card_has_copies_on_nodes_of_others():
    plugged = by_plugin(1)
    spec = plugged["deployments"][0]["spec"]["template"]["spec"]
    spec["nodeSelector"] = {PRODUCT_LABEL: plugged["nodes"][0]["metadata"]["labels"][PRODUCT_LABEL]}
    other = node("other", {PRODUCT_LABEL: "NVIDIA-A100-SXM4-80GB"}, gpu=1)
    plugged["nodes"].append(other)
    assert set() == fleet(slices=(), claims=(), **plugged).standing(LLAMA).closed
    spec["nodeSelector"]["pool"] = "inference"
    assert {"n1", "other"} == fleet(slices=(), claims=(), **plugged).standing(LLAMA).closed


def test_nodes_are_seen_that_have_cards_and_no_others():
    nodes = [
        {
            "metadata": {"name": name, "labels": {"zone": "a"}},
            "status": {"allocatable": {"cpu": "8", "pods": "9"}},
        }
        for name in ("node-h100-dynamic", "front")
    ]
    seen = fleet_of(snapshot(nodes=nodes), [LLAMA], Readers(), "zone")

    assert ["node-h100-dynamic"] == [*seen.hosts]
    assert "a" == seen.domain_of("node-h100-dynamic")
    assert "" == seen.domain_of("front")
