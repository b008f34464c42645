"""A view that is kept up with what changes is the one that is made of everything anew."""

from hypothesis import given, settings
from hypothesis import strategies as st

from actuator.objects.queued import QUEUE
from actuator.objects.readers import Readers
from actuator.objects.snapshot import Snapshot, fleet_of
from fleet.change import StepState
from fleet.workload import WorkloadKey
from tests.fakes.manifests import claim, claim_spec, deployment, h100_slices, pod, request, template
from tests.unit.actuator.test_groups import WHOLE, groups, member
from tests.unit.actuator.test_snapshot import BUDGET, COPY, SCALER, plan

NODE = "node-h100-dynamic"
ASKED = [WorkloadKey("llm", name) for name in ("llama", "mistral", "big")]
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


def stateful(name):
    body = deployment(name, uid="uid-of-a-set")
    return {**body, "kind": "StatefulSet"}


MIG_1G = claim_spec(request(profile="1g.10gb"))
KINDS = {
    "deployments": [
        versions(stateful("llama"), stateful("llama")),
        versions(deployment(), deployment(replicas=3), deployment(template_name="other")),
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
    "nodes": [versions(room("64"), room("32"), room("64", {"key": "k", "effect": "NoSchedule"}))],
}
SLICES = [
    [
        {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
        for body in h100_slices(gpus=gpus)
    ]
    for version, gpus in (("1", 2), ("2", 1))
]
SLOTS = [(kind, number) for kind, slots in KINDS.items() for number in range(len(slots))]

changes = st.lists(
    st.lists(st.tuples(st.sampled_from(SLOTS), st.integers(0, 4)), max_size=6), min_size=1, max_size=12
)


@settings(deadline=None)
@given(changes, st.lists(st.integers(0, 1), min_size=12, max_size=12))
def test_what_changed_is_all_that_a_kept_view_has_to_read(changes, published):
    """Of each object whatever version is there, or none; what does not change is the same object."""
    readers, chosen = Readers(), dict.fromkeys(SLOTS, 1)
    for number, (changed, cards) in enumerate(zip(changes, published, strict=False)):
        chosen.update(changed)
        held = {
            kind: [one for at, slot in enumerate(slots) if (one := slot[chosen[kind, at] % len(slot)])]
            for kind, slots in KINDS.items()
        }
        snapshot = Snapshot(str(number), slices=SLICES[cards], **held)

        anew = fleet_of(snapshot, ASKED, Readers())
        assert anew == fleet_of(snapshot, ASKED, readers)
        # Twice, and of one alone: what was kept is neither used up nor mixed up.
        assert anew == fleet_of(snapshot, ASKED, readers)
        [alone] = fleet_of(snapshot, ASKED[:1], readers).standings or [None]
        assert anew.standing(ASKED[0]) == alone
