"""A StatefulSet gains and loses replicas of the shape that it has, and gets no copies."""

import pytest

from actuator.kube.resources import STATEFUL_SETS
from fleet.errors import RefusedError
from fleet.shape import Configuration
from fleet.workload import Mode, WorkloadKey
from foreslice.owners import run_pause
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.shop import SHOP
from tests.cluster.test_leaving import SETTINGS
from tests.contract.test_cluster_contract import HALF, WHOLE, change, deployment, standing

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
LEDGER = WorkloadKey(SHOP, "ledger")


def stateful_set(name, replicas):
    """Return a claim template for whole cards and a StatefulSet on it."""
    template, body = deployment(name, replicas)
    return template, {**body, "kind": STATEFUL_SETS.kind, "spec": {**body["spec"], "serviceName": name}}


@pytest.fixture
def cluster(shop):
    try:
        with shop.cluster() as opened:
            for body in stateful_set("ledger", replicas=1):
                shop.create(opened, body)
            shop.settle(opened)
            yield opened
    finally:
        shop.clear()


def test_replicas_follow_through_its_own_scale_and_a_plan_names_what_it_is(shop, cluster):
    seen = standing(cluster, LEDGER)
    assert (WHOLE, False, 1) == (seen.own.shape, seen.may_have_variants, seen.own.ready)
    cluster.scale(LEDGER, "ledger", 2, expects=seen.own.version)
    shop.settle(cluster)
    assert Configuration({WHOLE: 2}) == standing(cluster, LEDGER).ready
    cluster.scale(LEDGER, "ledger", 0, expects=None)
    shop.settle(cluster)
    assert () == standing(cluster, LEDGER).own.replicas
    plan = cluster.record(change(target=LEDGER))
    found = shop.server.request("GET", f"/apis/foreslice.dev/v1alpha1/namespaces/{SHOP}/fractionplans")
    assert [(plan.change.name, "StatefulSet")] == [
        (body["metadata"]["name"], body["spec"]["target"]["kind"]) for body in found["items"]
    ]


def test_it_gets_no_copy(cluster):
    with pytest.raises(RefusedError, match="StatefulSet ledger: only Deployments can have variants"):
        cluster.create_variant(LEDGER, "ledger-half", HALF)


def test_its_owner_may_have_it_left_alone(plane, cluster, tmp_path):
    settings = tmp_path / "foreslice.yaml"
    settings.write_text((SETTINGS % plane.kubeconfig).replace("name: web", "name: ledger"))
    run_pause(settings, ["shop/ledger"], every=False, is_paused=True, as_json=True)
    until(lambda: Mode.FORECAST_ONLY == standing(cluster, LEDGER).permits)
