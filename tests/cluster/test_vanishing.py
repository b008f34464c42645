"""What serves needs nothing of ours: our definitions go, every pod goes once, and all come back."""

import pytest

from actuator.execute import Executor
from actuator.kube.errors import NotFoundError
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS, PLANS, PODS, TARGETS
from tests.cluster.conftest import NEWEST, make_classes
from tests.cluster.controlplane import control_plane
from tests.cluster.lab import until
from tests.cluster.shop import CRDS, SHOP, shop_of
from tests.cluster.test_kube_execution import GOAL, TERMS, wanted_now
from tests.contract.test_cluster_contract import START_S, WEB, deployment, standing
from tests.contract.test_publish_contract import advice


@pytest.fixture
def shop(tmp_path):
    """A shop on a control plane of its own: an API server takes minutes to forget a definition."""
    with control_plane(NEWEST, tmp_path) as plane:
        make_classes(plane)
        with shop_of(plane) as made:
            yield made


@pytest.fixture
def cluster(shop):
    with shop.cluster() as opened:
        for body in deployment("web", replicas=1):
            shop.create(opened, body)
        shop.settle(opened)
        yield opened


def moved(cluster):
    """Move the workload from its whole card to two halves, as the service would."""
    executor = Executor(cluster)

    def tick():
        executor.run([wanted_now(cluster, START_S)], TERMS, START_S)
        return GOAL == standing(cluster).ready

    until(tick, every_s=0.2)


def is_gone(shop, resource):
    try:
        shop.server.request("GET", resource.path(SHOP))
    except NotFoundError:
        return True
    return False


def test_with_our_definitions_gone_every_pod_is_restarted_where_it_was(shop, cluster):
    moved(cluster)
    cluster.publish(WEB, advice(1))
    kept = {
        kind: [body["metadata"]["uid"] for body in shop.list(kind)] for kind in (DEPLOYMENTS, CLAIM_TEMPLATES)
    }

    for resource in (PLANS, TARGETS):
        shop.server.request("DELETE", f"{CRDS}/{resource.plural}.foreslice.dev")
        until(lambda: is_gone(shop, resource))  # noqa: B023  answered before the next one
    pods = {body["metadata"]["name"] for body in shop.list(PODS)}
    for name in pods:
        shop.server.request("DELETE", PODS.path(SHOP, name))

    until(lambda: pods.isdisjoint(body["metadata"]["name"] for body in shop.list(PODS)))
    until(lambda: GOAL == standing(cluster).ready)
    assert kept == {kind: [body["metadata"]["uid"] for body in shop.list(kind)] for kind in kept}
