"""What every cluster shows of the restraints that owners set: budgets, marks, annotations."""

from math import inf

import pytest

from fleet.restraints import Approval
from fleet.workload import Mode
from tests.contract.test_cluster_contract import WEB, WORLDS, deployment, standing


@pytest.fixture(params=WORLDS.values(), ids=WORLDS.keys())
def world(request):
    return request.param()


def placed(world, replicas=2, annotations=None, pod_annotations=None):
    template, body = deployment("web", replicas)
    body["metadata"]["annotations"] = annotations or {}
    body["spec"]["template"]["metadata"]["annotations"] = pod_annotations or {}
    world.owner(template)
    world.owner(body)
    world.settle()


def budget(name="web", labels=None, **spec):
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "shop", "name": name},
        "spec": {"selector": {"matchLabels": labels or {"app": "web"}}, **spec},
    }


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"minAvailable": 1}, 1),
        ({"minAvailable": 2}, 0),
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": 1}, 1),
        ({"minAvailable": "50%"}, 1),
        ({"maxUnavailable": "100%"}, 2),
    ],
    ids=str,
)
def test_a_budget_says_how_many_ready_replicas_may_go(world, spec, allowed):
    world.owner(budget(**spec))
    placed(world)
    assert [("web", allowed)] == [(b.name, b.allowed) for b in standing(world.cluster).budgets]


def test_a_budget_of_others_is_none_of_ours(world):
    world.owner(budget(labels={"app": "chat"}, maxUnavailable=0))
    placed(world)
    assert () == standing(world.cluster).budgets


def test_without_annotations_all_is_permitted(world):
    placed(world)
    seen = standing(world.cluster)
    assert (Mode.FULL, [""] * 2) == (seen.permits, [r.spared_by for r in seen.variants[0].replicas])


def test_an_annotation_of_the_deployment_permits_less(world):
    placed(world, annotations={"foreslice.dev/mode": "advise"})
    assert Mode.ADVISE == standing(world.cluster, WEB).permits


def test_a_hold_and_an_approval_of_the_owner_are_seen(world):
    placed(world, annotations={"foreslice.dev/hold-until": "never", "foreslice.dev/approved": "1 x it"})
    seen = standing(world.cluster, WEB)
    assert (inf, Approval("1 x it", inf)) == (seen.held_until_s, seen.approval)


def test_a_pod_that_must_not_be_disrupted_says_by_what(world):
    placed(world, pod_annotations={"karpenter.sh/do-not-disrupt": "true"})
    replicas = standing(world.cluster).variants[0].replicas
    assert ["karpenter.sh/do-not-disrupt: true"] * 2 == [r.spared_by for r in replicas]
