"""One replica of a LeaderWorkerSet is a group of pods: as large as all of them, and as far as the last."""

import pytest

from actuator.objects.groups import EXCLUSIVE, GROUP_INDEX, SET_NAME, WORKER_INDEX, as_deployment
from actuator.objects.slices import SliceReader
from actuator.objects.standings import Observer
from fleet.errors import RefusedError
from fleet.restraints import DisruptionBudget
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from tests.fakes.manifests import claim, claim_spec, deployment, h100_slices, pod, request, template

KEY = WorkloadKey("llm", "llama")
INVENTORY = SliceReader().read(h100_slices(gpus=4))
WHOLE = template("whole", claim_spec(request("gpu.nvidia.com", None)))
MIG = template("mig-3g")
PAIR = Shape("h100-80gb", cards=2)


def groups(size=2, replicas=2, of="whole", leader=None):
    """A LeaderWorkerSet, as `as_deployment` has it."""
    body = deployment(template_name=of, replicas=replicas)
    made = {"size": size, "workerTemplate": body["spec"]["template"]}
    if leader is not None:
        made["leaderTemplate"] = deployment(template_name=leader)["spec"]["template"]
    return as_deployment({**body, "spec": {"replicas": replicas, "leaderWorkerTemplate": made}})


def member(group, index, **more):
    """One pod of a group and its claim, each on a card of its own."""
    name = f"llama-{group}-{index}"
    body = pod(name, **more)
    body["metadata"]["labels"] |= {SET_NAME: "llama", GROUP_INDEX: str(group), WORKER_INDEX: str(index)}
    return body, claim(f"{name}-gpus", f"gpu-{2 * group + index}")


def standing(*found, budgets=(), **made):
    pods, claims = zip(*found, strict=True) if found else ((), ())
    seen = Observer(INVENTORY, [groups(**made)], [WHOLE, MIG], pods, claims, budgets)
    return seen.standing(KEY)


def test_a_group_is_one_replica_on_all_of_its_cards_and_ready_when_its_last_pod_is():
    others = [member(0, 0), member(0, 1)]
    for last, is_ready in (([], False), ([member(1, 1, ready=False)], False), ([member(1, 1)], True)):
        seen = standing(*others, member(1, 0), *last)
        assert (PAIR, 2, ["llama-0-0", "llama-1-0"]) == (
            seen.own.shape,
            seen.own.wanted,
            [replica.pod for replica in seen.own.replicas],
        )
        assert (Configuration({PAIR: 1 + is_ready}), 2) == (seen.ready, seen.host.pods)


def test_one_pod_that_leaves_takes_its_group_along():
    seen = standing(member(0, 0), member(0, 1, leaving=True))
    assert [True] == [replica.is_leaving for replica in seen.own.replicas]


def test_groups_of_one_may_be_parts_of_cards_and_none_is_copied():
    seen = standing(size=1, of="mig-3g")
    assert (Shape("h100-80gb", "3g.40gb"), False) == (seen.own.shape, seen.may_have_variants)


def test_its_pods_may_stand_on_several_nodes_unless_each_group_has_a_domain_to_itself():
    anywhere = groups()
    alone = {**anywhere, "metadata": {**anywhere["metadata"], "annotations": {EXCLUSIVE: "rack"}}}
    for body, members, pods in ((anywhere, 2, 1), (alone, 1, 2)):
        seen = Observer(INVENTORY, [body], [WHOLE], (), ()).standing(KEY)
        assert (members, pods) == (seen.own.members, seen.own.host.pods)
        assert (members, pods) == (seen.pods(PAIR).members, seen.pods(PAIR).host.pods)


def test_a_budget_that_counts_pods_lets_whole_groups_go():
    budget = {
        "metadata": {"name": "some", "namespace": "llm", "generation": 1},
        "spec": {"selector": {"matchLabels": {SET_NAME: "llama"}}},
        "status": {"observedGeneration": 1, "disruptionsAllowed": 3},
    }
    assert (DisruptionBudget("some", 1),) == standing(budgets=[budget]).budgets


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ({"of": "mig-3g"}, "LeaderWorkerSet llama: groups of 2 pods run on whole cards, not on 3g.40gb"),
        ({"leader": "mig-3g"}, "LeaderWorkerSet llama: leader and workers of a group ask for different"),
    ],
)
def test_groups_whose_shape_is_none_are_refused(made, why):
    with pytest.raises(RefusedError, match=why):
        standing(**made)
