"""A LeaderWorkerSet gains and loses groups through its own scale; the test is its controller."""

from functools import partial

import pytest

from actuator.kube.resources import CLAIM_TEMPLATES, LEADER_WORKER_SETS, PLANS, PODS
from actuator.objects.groups import GROUP_INDEX, KIND, SET_NAME, WORKER_INDEX
from allocator.room import room_of
from fleet.boards import H100_80GB
from fleet.errors import ConflictError, RefusedError
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.shop import CRDS, SHOP
from tests.contract.test_cluster_contract import HALF, change, deployment, standing

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
LARGE = WorkloadKey(SHOP, "large")
PAIR = Shape("h100-80gb", cards=2)
GROUP, _, VERSION = LEADER_WORKER_SETS.api_version.partition("/")
CRD = f"{LEADER_WORKER_SETS.plural}.{GROUP}"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
# Names and subresources as in kubernetes-sigs/lws, config/crd/bases.
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": CRD},
    "spec": {
        "group": GROUP,
        "names": {"kind": KIND, "plural": LEADER_WORKER_SETS.plural, "singular": KIND.lower()},
        "scope": "Namespaced",
        "versions": [
            {
                "name": VERSION,
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": ANYTHING},
                "subresources": {"status": {}, "scale": SCALE},
            }
        ],
    },
}


@pytest.fixture
def cluster(shop):
    """One group of two asked for, none made yet."""
    server = shop.server
    server.request("POST", CRDS, DEFINITION)
    try:
        until(partial(_is_served, server))
        template, body = deployment("large", 1)
        made = {"size": 2, "workerTemplate": body["spec"]["template"]}
        server.request("POST", CLAIM_TEMPLATES.path(SHOP), template)
        server.request(
            "POST",
            LEADER_WORKER_SETS.path(SHOP),
            {
                "apiVersion": LEADER_WORKER_SETS.api_version,
                "kind": KIND,
                "metadata": body["metadata"],
                "spec": {"replicas": 1, "leaderWorkerTemplate": made},
            },
        )
        with shop.cluster() as opened:
            until(lambda: standing(opened, LARGE) is not None)
            yield opened
    finally:
        server.request("DELETE", f"{CRDS}/{CRD}")
        server.request("DELETE", PODS.path(SHOP), {"gracePeriodSeconds": 0})
        shop.clear()


def member(shop, index, group=0):
    """Make one pod of a group, as the controller does."""
    _, body = deployment("large", 1)
    spec = body["spec"]["template"]["spec"]
    labels = {SET_NAME: "large", GROUP_INDEX: str(group), WORKER_INDEX: str(index)}
    meta = {"name": f"large-{group}-{index}", "labels": {"app": "large", **labels}}
    shop.server.request(
        "POST", PODS.path(SHOP), {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}
    )


def test_groups_follow_through_its_own_scale_and_are_one_replica_each(shop, cluster):
    member(shop, 0)
    until(lambda: _holds(cluster, 1))
    seen = standing(cluster, LARGE)
    assert (PAIR, False, 0) == (seen.own.shape, seen.may_have_variants, seen.own.ready)
    member(shop, 1)
    until(lambda: Configuration({PAIR: 1}) == standing(cluster, LARGE).ready)
    assert _holds(cluster, 2)

    cluster.scale(LARGE, "large", 2, expects=standing(cluster, LARGE).own.version)
    assert Configuration({PAIR: 2}) == standing(cluster, LARGE).wanted
    [held] = shop.list(LEADER_WORKER_SETS)
    assert 2 == held["spec"]["replicas"]
    after = standing(cluster, LARGE)
    assert (set(), None) == ({w.name for w in after.writers if w.is_rival}, after.written_by_hand_at_s)
    with pytest.raises(ConflictError):
        cluster.scale(LARGE, "large", 1, expects=seen.own.version)

    plan = cluster.record(change(target=LARGE))
    [body] = shop.list(PLANS)
    target = {"apiVersion": LEADER_WORKER_SETS.api_version, "kind": KIND, "name": "large"}
    assert (plan.change.name, target) == (body["metadata"]["name"], body["spec"]["target"])
    with pytest.raises(RefusedError, match="LeaderWorkerSet large: only Deployments can have variants"):
        cluster.create_variant(LARGE, "large-half", HALF)


def test_a_group_has_room_over_several_nodes_and_is_one_replica_there(shop, lab, cluster):
    """Beside the two cards of one node, one on each of two more: of two groups one at least is over two."""
    for _ in range(2):
        lab.node(H100_80GB)
    until(lambda: 4 == len(cluster.view([LARGE]).gpus))
    cluster.scale(LARGE, "large", 0, expects=None)
    fleet = cluster.view([LARGE])
    assert 2 == room_of(fleet).fill(PAIR, 3, fleet.standing(LARGE).pods(PAIR))[0]

    cluster.scale(LARGE, "large", 2, expects=None)
    for group in range(2):
        member(shop, 0, group)
        until(lambda group=group: _holds(cluster, 2 * group + 1))
        assert Configuration({PAIR: group}) == standing(cluster, LARGE).ready
        member(shop, 1, group)
        until(lambda group=group: Configuration({PAIR: group + 1}) == standing(cluster, LARGE).ready)
    fleet = cluster.view([LARGE])
    assert 3 == len({device.node for device in fleet.allocated})
    assert 0 == room_of(fleet).fill(PAIR, 1, fleet.standing(LARGE).pods(PAIR))[0]

    shop.server.request("DELETE", PODS.path(SHOP, "large-1-1"), {"gracePeriodSeconds": 0})
    until(lambda: Configuration({PAIR: 1}) == standing(cluster, LARGE).ready)


def _holds(cluster, cards):
    return cards == len(cluster.view([LARGE]).allocated)


def _is_served(server):
    try:
        return server.request("GET", LEADER_WORKER_SETS.path(SHOP))["items"] == []
    except ConflictError:
        return False
