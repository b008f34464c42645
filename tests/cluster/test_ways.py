"""Who else writes replicas is seen and not fought, and floors move what scales, on a real API server."""

import pytest

from actuator.diff import diff
from actuator.execute import Executor
from actuator.kube.apiserver import MERGE
from actuator.kube.resources import AUTOSCALERS, DEPLOYMENTS, SCALED_OBJECTS
from actuator.outcome import Outcome
from actuator.ways import with_ways
from fleet.errors import ConflictError, RefusedError
from fleet.shape import Configuration
from fleet.workload import Way
from tests.builders.execution import Goal
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.shop import CRDS
from tests.cluster.test_kube_execution import TERMS
from tests.contract.test_cluster_contract import START_S, WEB, WHOLE, standing
from tests.contract.test_floor_contract import autoscaler

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
GIT = "argocd-controller"
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def cluster(shop):
    with shop.open() as opened:
        yield opened


@pytest.fixture
def keda(shop):
    """KEDA's definition of ScaledObjects, without KEDA."""
    name = "scaledobjects.keda.sh"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    group, version = SCALED_OBJECTS.api_version.split("/")
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"kind": SCALED_OBJECTS.kind, "plural": SCALED_OBJECTS.plural},
        "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
    }
    shop.server.request("POST", CRDS, {"metadata": {"name": name}, "spec": spec})
    until(lambda: _is_served(shop))
    yield
    shop.server.request("DELETE", f"{CRDS}/{name}")


def _is_served(shop):
    try:
        return shop.list(SCALED_OBJECTS) == []
    except ConflictError:
        return False


def raised_to(cluster, replicas):
    """Have an executor raise the workload, and return what became of that."""
    goal = Configuration({WHOLE: replicas})
    changes = diff(cluster.view([WEB]), [Goal(WEB, goal)], START_S)
    return [(result.outcome, result.reason) for result in Executor(cluster).run(changes, TERMS, START_S)]


def applied(shop, path, body, manager=GIT):
    """Apply something as a GitOps controller does on every sync."""
    query = {"fieldManager": manager, "force": "true"}
    return shop.server.request("PATCH", path, body, query, APPLY)


def test_replicas_that_are_applied_by_gitops_are_left_alone_and_their_writer_is_named(shop, cluster):
    """Nothing is written, no plan either."""
    path = DEPLOYMENTS.path(WEB.namespace, WEB.name)
    applied(shop, path, {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 1}})
    acting = with_ways(cluster, {})
    until(lambda: standing(acting).forbidden)
    fix = f"take spec.replicas out of what {GIT} applies"
    why = f"spec.replicas is kept by {GIT} (applies spec.replicas): {fix}"
    before = acting.version()
    assert [(Outcome.HELD, why)] == raised_to(acting, 2)
    assert (1, before) == (standing(acting).own.wanted, acting.version())


def test_replicas_that_an_autoscaler_sets_are_left_alone_until_it_is_gone(shop, cluster):
    shop.create(cluster, autoscaler(low=2))
    acting = with_ways(cluster, {})
    until(lambda: 2 == standing(cluster).own.wanted)
    shop.settle(cluster)
    [(outcome, why)] = raised_to(acting, 3)
    assert Outcome.HELD is outcome
    assert why.endswith("set `way: floor` for the workload, or delete the HorizontalPodAutoscaler")
    shop.server.request("DELETE", AUTOSCALERS.path(WEB.namespace, "by-load"))
    until(lambda: not standing(cluster).scalers)
    assert [(Outcome.DONE, "peak ahead")] == raised_to(acting, 3)


def test_what_a_person_scaled_is_seen_and_is_as_old_as_its_newest_pod(shop, cluster):
    assert standing(cluster).written_by_hand_at_s is None
    path = DEPLOYMENTS.path(WEB.namespace, WEB.name, "scale")
    body = {"spec": {"replicas": 2}}
    shop.server.request("PATCH", path, body, {"fieldManager": "kubectl"}, MERGE)
    until(lambda: 2 == len(standing(cluster).own.replicas))
    newest_s = max(replica.created_at_s for replica in standing(cluster).own.replicas)
    assert newest_s == standing(cluster).written_by_hand_at_s


def test_the_floor_of_an_autoscaler_that_gitops_applies_is_left_alone(shop, cluster):
    shop.create(cluster, autoscaler())
    path = AUTOSCALERS.path(WEB.namespace, "by-load")
    applied(shop, path, {key: value for key, value in autoscaler().items() if key != "metadata"})
    acting = with_ways(cluster, {WEB: Way.FLOOR})
    said = f"spec.minReplicas is kept by {GIT}; take it out of what that applies, or set mode to advise"
    with pytest.raises(RefusedError, match=said):
        acting.scale(WEB, "web", 2, expects=None)


def test_the_floor_of_a_scaled_object_is_its_fewest_replicas(shop, keda, cluster):
    body = {
        "apiVersion": SCALED_OBJECTS.api_version,
        "kind": SCALED_OBJECTS.kind,
        "metadata": {"namespace": WEB.namespace, "name": "by-queue"},
        "spec": {"scaleTargetRef": {"name": "web"}, "maxReplicaCount": 4},
    }
    shop.server.request("POST", SCALED_OBJECTS.path(WEB.namespace), body)
    until(lambda: standing(cluster).scalers)
    acting = with_ways(cluster, {WEB: Way.FLOOR})
    assert [(Outcome.DONE, "peak ahead")] == raised_to(acting, 3)
    [scaler] = standing(cluster).scalers
    assert ("ScaledObject", 3, 4) == (scaler.kind, scaler.floor, scaler.most)
    held = shop.server.request("GET", SCALED_OBJECTS.path(WEB.namespace, "by-queue"))
    assert {"scaleTargetRef", "maxReplicaCount", "minReplicaCount"} == set(held["spec"])
