"""A view that is kept up with what changes is the one that is made of everything anew."""

from copy import deepcopy
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actuator.objects.beside import Beside
from actuator.objects.holds import rule_of
from actuator.objects.queued import QUEUE
from actuator.objects.readers import Readers
from actuator.objects.snapshot import Snapshot, fleet_of
from fleet.change import StepState
from fleet.holds import Hold
from fleet.workload import WorkloadKey
from tests.fakes.manifests import claim, claim_spec, deployment, h100_slices, pod, request, template
from tests.unit.actuator.test_groups import WHOLE, groups, member
from tests.unit.actuator.test_plugged import node
from tests.unit.actuator.test_snapshot import BUDGET, COPY, SCALER, UNREADABLE, by_plugin, plan

NODE = "node-h100-dynamic"
ASKED = [WorkloadKey("llm", name) for name in ("llama", "mistral", "big", "plain")]
BESIDE = Beside({ASKED[0]: ("small",)})
[LEADER, LEADERS_CLAIM], [WORKER, WORKERS_CLAIM] = member(0, 0), member(0, 1)


def versions(*bodies):
    """An object at versions of its own, and where it is not there."""
    named = [
        {**body, "metadata": {**body["metadata"], "resourceVersion": str(number)}}
        for number, body in enumerate(bodies, start=10)
    ]
    return [None, *named]


def on(body, node=NODE, cpu="2", **labels):
    """A pod with a node, and labels beside its own."""
    body = {**body, "spec": {"nodeName": node, "containers": [{"resources": {"requests": {"cpu": cpu}}}]}}
    return {**body, "metadata": {**body["metadata"], "labels": {**body["metadata"]["labels"], **labels}}}


def queued(body):
    """A pod that counts with a card in a queue."""
    body = on(body, **{QUEUE: "q"})
    body["spec"]["containers"][0]["resources"]["limits"] = {"nvidia.com/gpu": "1"}
    return body


def room(cores, *taints):
    status = {"allocatable": {"cpu": cores, "memory": "64Gi", "pods": "110"}}
    return {"metadata": {"name": NODE}, "spec": {"taints": list(taints)}, "status": status}


def plugged(uid, gpus="1", node="n1"):
    """A pod of `plain` on cards of a device plugin; one made anew under its name has another uid."""
    body = pod("p", app="plain")
    engine = {"resources": {"limits": {"nvidia.com/gpu": gpus}}}
    return {
        **body,
        "metadata": {**body["metadata"], "uid": uid},
        "spec": {"nodeName": node, "containers": [engine]},
    }


def plain(**more):
    body = deployment("plain", **more)
    [made] = by_plugin(1)["deployments"]
    return {
        **body,
        "spec": {
            **body["spec"],
            "template": {**body["spec"]["template"], "spec": made["spec"]["template"]["spec"]},
        },
    }


def stateful(name):
    body = deployment(name, uid="uid-of-a-set")
    return {**body, "kind": "StatefulSet"}


MIG_1G = claim_spec(request(profile="1g.10gb"))
KINDS = {
    "deployments": [
        versions(stateful("llama"), stateful("llama")),
        versions(
            deployment(),
            deployment(replicas=3),
            deployment(template_name="other"),
            deployment(uid="uid-of-one-made-anew"),
        ),
        versions(deployment("small", "other"), deployment("small", "other", replicas=2), stateful("small")),
        versions(plain(), plain(replicas=2)),
        versions(COPY, {**COPY, "metadata": {**COPY["metadata"], "ownerReferences": []}}),
        versions(deployment("mistral", "other"), deployment("mistral")),
        versions({**groups(), "metadata": {**groups()["metadata"], "namespace": "llm", "name": "big"}}),
    ],
    "templates": [
        versions(template("mig-3g"), template("mig-3g", MIG_1G)),
        versions(template("other", MIG_1G), template("other")),
        versions({**WHOLE, "metadata": {**WHOLE["metadata"], "namespace": "llm"}}),
        versions(template("mig-3g", MIG_1G, namespace="apart")),
    ],
    "pods": [
        versions(pod("a"), on(pod("a")), on(pod("a", ready=False)), on(pod("a", phase="Succeeded"))),
        versions(
            on(pod("b")), queued(pod("b")), pod("b", leaving=True), on(pod("b", app="mistral"), cpu="7")
        ),
        versions(on(pod("c", variant="llama-copy")), on(pod("c", variant=None))),
        versions(on(pod("d", namespace="apart"), cpu="11"), queued(pod("d", namespace="apart"))),
        versions(on(pod("e"), **{"foreslice.dev/standby": "s"}), on(pod("e"))),
        versions(LEADER),
        versions(WORKER),
        versions(pod("f", app="small"), on(pod("f", app="small"), cpu="5")),
        versions(plugged("uid-p"), plugged("uid-of-one-made-anew"), plugged("uid-p", gpus="2", node=NODE)),
    ],
    "claims": [
        versions(claim("a-gpus"), claim("a-gpus", "gpu-0-mig-3g40gb-9-4"), claim("a-gpus", "gpu-1")),
        versions(claim("b-gpus", "gpu-0-mig-3g40gb-9-0"), claim("b-gpus", driver="foreign", device="x")),
        versions(claim("d-gpus", "gpu-1", namespace="apart"), claim("d-gpus", namespace="apart")),
        versions(LEADERS_CLAIM),
        versions(WORKERS_CLAIM),
    ],
    "plans": [
        versions(plan(StepState.PENDING), plan(StepState.DONE)),
        versions(plan(StepState.DONE, target=ASKED[1]), plan(StepState.FAILED, target=ASKED[1])),
        versions(plan(StepState.DONE, StepState.CLAIMED, at_s=500.0)),
    ],
    "budgets": [versions(BUDGET)],
    "autoscalers": [versions(SCALER)],
    "scaled_objects": [
        versions({**SCALER, "spec": {"scaleTargetRef": {"name": "mistral"}, "maxReplicaCount": 3}})
    ],
    "nodes": [
        versions(room("64"), room("32"), room("64", {"key": "k", "effect": "NoSchedule"})),
        versions(node(gpu=1), node(), node(gpu=2), node(gpu=2, spec={"unschedulable": True})),
    ],
    "taint_rules": [
        versions(*(rule_of(Hold((NODE, "gpu-1"), one, "add", 9e9)) for one in ASKED[:2])),
    ],
}


def published(version, gpus, generation=1, newer=()):
    """Slices of a pool, and some of its next generation."""
    bodies = [*h100_slices(gpus=gpus), *newer]
    for body in bodies:
        body["metadata"]["resourceVersion"] = version
        body["spec"]["pool"]["generation"] = generation
    return bodies


SLICES = [
    published("1", 2),
    published("2", 1),
    published("3", 2, generation=2),
    # A generation of which not all is there is no pool yet.
    [published("1", 2)[0], *published("4", 2, generation=2)[1:]],
    [],
]
SLOTS = [(kind, number) for kind, slots in KINDS.items() for number in range(len(slots))]


def steps(few):
    """What becomes of a few objects from view to view, while the others stay."""
    step = {
        "changed": st.lists(st.tuples(st.sampled_from(few), st.integers(0, 4)), min_size=1, max_size=2),
        "slices": st.sampled_from([*[0] * 6, *range(1, len(SLICES))]),
        "is_listed_anew": st.sampled_from([False, False, False, True]),
        "asked": st.lists(st.sampled_from(ASKED), unique=True),
        "broken": st.sampled_from([*[{}] * 12, *UNREADABLE.values()]),
    }
    return st.lists(st.fixed_dictionaries(step), min_size=3, max_size=8)


changes = st.lists(st.sampled_from(SLOTS), min_size=1, max_size=3, unique=True).flatmap(steps)


def viewed(snapshot, asked, readers):
    """A view, or why there is none."""
    try:
        return fleet_of(snapshot, asked, readers, beside=BESIDE)
    except (AttributeError, KeyError) as error:
        return repr(error)


def shown(chosen, cards=0, objects=KINDS):
    """All objects at the versions that are chosen, beside these slices."""
    held = {
        kind: [one for at, slot in enumerate(slots) if (one := slot[chosen[kind, at] % len(slot)])]
        for kind, slots in objects.items()
    }
    return Snapshot("1", slices=SLICES[cards], **held)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_becomes_of_one_object_is_seen(kind):
    """Each of its versions, or none, after each other one, and nothing beside it."""
    readers, chosen = Readers(), dict.fromkeys(SLOTS, 1)
    for at, slot in enumerate(KINDS[kind]):
        for pair in permutations(range(len(slot)), 2):
            for version in pair:
                snapshot = shown({**chosen, (kind, at): version})
                assert viewed(snapshot, ASKED, Readers()) == viewed(snapshot, ASKED, readers)


def test_whatever_becomes_of_slices_is_seen_with_claims_and_without():
    readers, chosen = Readers(), dict.fromkeys(SLOTS, 1)
    gone = {slot: 0 for slot in SLOTS if slot[0] == "claims"}
    for pair in permutations([(cards, none) for cards in range(len(SLICES)) for none in ({}, gone)], 2):
        for cards, none in pair:
            snapshot = shown({**chosen, **none}, cards)
            assert viewed(snapshot, ASKED, Readers()) == viewed(snapshot, ASKED, readers)


@settings(deadline=None)
@given(changes)
def test_what_changed_is_all_that_a_kept_view_has_to_read(steps):
    """Of each object whatever version is there, or none; what does not change is mostly the same object.

    Where a watch was lost all are other objects of the same versions, and in another order. Workloads come
    and go by settings; what cannot be read fails whoever looks, and is forgotten as soon as it is gone.
    """
    readers, chosen, objects, order = Readers(), dict.fromkeys(SLOTS, 1), KINDS, 1
    for step in steps:
        chosen.update(step["changed"])
        if step["is_listed_anew"]:
            objects, order = deepcopy(objects), -order
        held = shown(chosen, step["slices"], objects)
        held = replace(held, **{kind: getattr(held, kind)[::order] for kind in KINDS})
        broken = {kind: [*getattr(held, kind), *bodies] for kind, bodies in step["broken"].items()}
        snapshot = replace(held, **broken)

        anew = viewed(snapshot, ASKED, Readers())
        assert anew == viewed(snapshot, ASKED, readers)
        # Twice, and of others: what was kept is neither used up nor mixed up.
        assert anew == viewed(snapshot, ASKED, readers)
        assert viewed(snapshot, step["asked"], Readers()) == viewed(snapshot, step["asked"], readers)
