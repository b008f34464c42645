"""The real adapter when the API server, or the way to it, is in trouble."""

import time
from contextlib import closing
from threading import Event

import pytest

from actuator.kube.cluster import KubeCluster
from actuator.kube.connect import connect
from actuator.kube.resources import DEPLOYMENTS, LEADER_WORKER_SETS, PODS, SCALED_OBJECTS
from fleet.errors import ConflictError, RefusedError, UnavailableError
from tests.cluster.conftest import NEWEST
from tests.cluster.faults import kubeconfig, proxy_of
from tests.cluster.lab import WITHIN_S, until
from tests.cluster.shop import SHOP, always
from tests.contract.test_cluster_contract import HALF, START_S, WEB, change, standing
from tests.contract.test_floor_contract import autoscaler

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)


@pytest.fixture
def proxy(plane):
    with proxy_of(plane) as started:
        yield started


@pytest.fixture
def server(proxy, tmp_path):
    """The API server behind the proxy, opened as the service opens it."""
    with closing(connect(kubeconfig(tmp_path / "kubeconfig", proxy.url, "admin"))) as opened:
        yield opened


@pytest.fixture
def cluster(shop, server):
    with shop.open(server) as opened:
        yield opened


def replicas(shop, name="web"):
    (found,) = (body for body in shop.list(DEPLOYMENTS) if body["metadata"]["name"] == name)
    return found["spec"]["replicas"]


def known_lists(proxy):
    """Return the lists asked for so far, but for kinds that the server lacks: those are tried ever again."""
    lacking = tuple(kind.path(SHOP) for kind in (LEADER_WORKER_SETS, SCALED_OBJECTS))
    return [path for _, path in proxy.asked if "limit" in path and not path.startswith(lacking)]


def test_a_watch_that_is_told_410_lists_anew(shop, proxy, cluster):
    gone = b'{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}\n'
    proxy.add("WATCH", "/shop/deployments", status=200, body=gone)
    too_old = proxy.add("WATCH", "/api/v1/pods", status=410)
    lists = sum("/shop/deployments" in path and "limit" in path for _, path in proxy.asked)
    proxy.cut_watches()
    until(lambda: sum("/shop/deployments" in p and "limit" in p for _, p in proxy.asked) > lists)
    until(too_old.met.is_set)
    shop.server.request("DELETE", DEPLOYMENTS.path(SHOP, "web"))
    until(lambda: standing(cluster) is None)


def test_a_watch_that_breaks_off_goes_on_where_it_was(shop, proxy, cluster):
    lists = known_lists(proxy)
    proxy.cut_watches()
    cluster.scale(WEB, "web", 2, expects=None)
    until(lambda: len(standing(cluster).variants[0].replicas) == 2)
    assert lists == known_lists(proxy)


def test_a_read_is_repeated_after_the_pause_that_a_429_asks_for(proxy, server, shop):
    proxy.add("GET", "/shop/pods", times=2, status=429, headers={"Retry-After": "1"})
    began_s = time.monotonic()
    assert [] == server.request("GET", PODS.path(SHOP))["items"]
    assert 2.0 <= time.monotonic() - began_s
    assert 3 == len(proxy.asked)


def test_a_429_that_wants_an_hour_is_given_up_long_before(proxy, server, shop):
    proxy.add("GET", "/shop/pods", times=9, status=429, headers={"Retry-After": "3600"})
    with pytest.raises(UnavailableError, match="the test said so"):
        server.request("GET", PODS.path(SHOP))
    assert 3 == len(proxy.asked)


@pytest.mark.parametrize("status", [429, 500, 503, 0], ids=["429", "500", "503", "cut"])
def test_a_write_is_sent_once_and_can_be_made_again(shop, proxy, cluster, status):
    proxy.add("PATCH", "/scale", status=status, headers={"Retry-After": "0"})
    with pytest.raises(UnavailableError):
        cluster.scale(WEB, "web", 2, expects=None)
    assert 1 == sum(method == "PATCH" for method, _ in proxy.asked)
    assert 1 == replicas(shop)
    cluster.scale(WEB, "web", 2, expects=None)
    assert 2 == replicas(shop)


def test_a_slow_answer_is_waited_for_and_the_view_does_not_wait(shop, proxy, cluster):
    hold = Event()
    slow = proxy.add("WATCH", "/api/v1/pods", hold=hold)
    proxy.cut_watches()
    assert slow.met.wait(WITHIN_S)
    assert standing(cluster) is not None
    hold.set()
    cluster.scale(WEB, "web", 2, expects=None)
    until(lambda: len(standing(cluster).variants[0].replicas) == 2)


def test_html_in_place_of_json_is_no_answer(proxy, server, shop):
    proxy.add("GET", "/shop/pods", status=200, body=b"<html>sign in</html>")
    with pytest.raises(UnavailableError, match=r"GET /api/v1/namespaces/shop/pods: "):
        server.request("GET", PODS.path(SHOP))


def test_nothing_is_seen_before_everything_was_listed(proxy, server, shop):
    proxy.add("GET", "/resourceslices", times=9, status=500)
    with closing(KubeCluster(server, [SHOP], always)) as cluster:
        with pytest.raises(UnavailableError, match="/resourceslices: the test said so"):
            cluster.view([WEB])
        assert cluster.age_s() is None
        until(lambda: cluster.age_s() is not None)
        assert 2 == len(cluster.view([WEB]).gpus)


def test_credentials_that_ran_out_are_said_and_what_was_seen_stays(shop, proxy, cluster):
    proxy.add("GET", "", times=9999, status=401)
    proxy.add("PATCH", "", status=401)
    proxy.cut_watches()
    with pytest.raises(UnavailableError, match=r"does not accept our credentials \(401\)"):
        cluster.scale(WEB, "web", 2, expects=None)
    assert standing(cluster) is not None


def test_the_view_grows_old_while_the_server_is_silent_and_young_again_after(shop, proxy, cluster):
    outage = proxy.add("GET", "", times=9999, status=503)
    proxy.cut_watches()
    before_s = cluster.age_s()
    until(lambda: before_s + 3 <= cluster.age_s())
    old_s = cluster.age_s()
    outage.times = 0
    until(lambda: cluster.age_s() < old_s)


def test_what_a_person_scaled_is_taken_over(shop, cluster):
    path = DEPLOYMENTS.path(SHOP, "web", "scale")
    scale = shop.server.request("GET", path)
    shop.server.request("PUT", path, {**scale, "spec": {"replicas": 2}}, {"fieldManager": "kubectl"})
    cluster.scale(WEB, "web", 1, expects=None)
    assert 1 == replicas(shop)


@pytest.mark.parametrize("wanted", [0, 1])
def test_replicas_that_something_applies_again_and_again_are_not_fought(shop, cluster, wanted):
    applied = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"replicas": 2},
    }
    query = {"fieldManager": "argocd-controller", "force": "true"}
    shop.server.request(
        "PATCH", DEPLOYMENTS.path(SHOP, "web"), applied, query, "application/apply-patch+yaml"
    )
    with pytest.raises(RefusedError) as said:
        cluster.scale(WEB, "web", wanted, expects=None)
    assert (
        "Deployment shop/web: spec.replicas is kept by argocd-controller; "
        "take it out of what that applies, or set mode to advise"
    ) == str(said.value)
    assert 2 == replicas(shop)


def test_an_autoscaler_is_not_fought(shop, cluster):
    shop.create(cluster, autoscaler())
    path = DEPLOYMENTS.path(SHOP, "web", "scale")
    scale = shop.server.request("GET", path)
    query = {"fieldManager": "kube-controller-manager"}
    shop.server.request("PUT", path, {**scale, "spec": {"replicas": 2}}, query)
    with pytest.raises(RefusedError, match="kept by a HorizontalPodAutoscaler"):
        cluster.scale(WEB, "web", 1, expects=None)


def test_a_variant_that_others_made_and_scaled_meanwhile_keeps_its_replicas(shop, proxy, cluster):
    hold = Event()
    for kind in ("deployments", "resourceclaimtemplates"):
        proxy.add("WATCH", f"/shop/{kind}", hold=hold)
    proxy.cut_watches()
    with shop.cluster() as other:
        other.view([WEB])
        other.create_variant(WEB, "web-half", HALF)
        other.scale(WEB, "web-half", 2, expects=None)
    with pytest.raises(ConflictError, match="already exists"):
        cluster.create_variant(WEB, "web-half", HALF)
    hold.set()
    # Between the news of a variant and that of its template, nobody can say what it asks for.
    until(lambda: standing(cluster) and len(standing(cluster).variants) == 2)
    assert (2, 2) == (replicas(shop, "web-half"), standing(cluster).variants[1].wanted)


def test_of_two_that_act_on_one_version_one_is_too_late(shop, cluster):
    seen = standing(cluster).variants[0].version
    with shop.cluster() as other:
        other.view([WEB])
        other.scale(WEB, "web", 2, expects=seen)
    with pytest.raises(ConflictError):
        cluster.scale(WEB, "web", 0, expects=seen)
    assert 2 == replicas(shop)


def test_a_plan_that_others_made_meanwhile_is_the_plan(shop, cluster):
    with shop.cluster() as other:
        theirs = other.claim_step(other.record(change()), 0, START_S + 5)
    assert theirs == cluster.record(change())
