"""The mirror shows the newest version of each object, whatever order news comes in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actuator.kube.mirror import Mirror, Scope
from actuator.kube.resources import CLAIMS, NODES, PLANS, PODS, SERVING
from actuator.manifest import version_of

SHOP = Scope(PODS, "shop")
CLAIMED = Scope(CLAIMS, "shop")
NAMES = ("a", "b", "c")


def pod(name="web", version=1, **parts):
    return {"metadata": {"namespace": "shop", "name": name, "resourceVersion": str(version)}, **parts}


@pytest.fixture
def mirror():
    return Mirror()


def held(mirror, scope=SHOP):
    return {body["metadata"]["name"]: int(version_of(body)) for body in mirror.list(scope)}


def test_it_begins_with_nothing(mirror):
    assert ([], None) == (mirror.list(SHOP), mirror.get(SHOP, "web"))


def test_objects_say_what_they_are_and_leave_out_who_owns_their_fields(mirror):
    body = {**pod(), "data": {"x": 1}}
    body["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    mirror.replace(CLAIMED, [body], "1")
    expected = {**pod(), "data": {"x": 1}, "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim"}
    assert expected == mirror.get(CLAIMED, "web")


def test_of_a_pod_is_kept_what_is_read_and_no_secret_of_its_containers(mirror):
    asks = {"resources": {"requests": {"cpu": "2"}}}
    env = [{"name": "TOKEN", "value": "s"}, {"name": "PART", "value": "0.2"}]
    words = ["--api-key=$(TOKEN)", "--gpu-memory-utilization=$(PART)"]
    bare, engine = {"env": env, **asks}, {"env": env, "command": ["serve"], "args": words, **asks}
    tolerates = {"tolerations": [{"operator": "Exists"}]}
    body = pod(spec={"nodeName": "n0", "containers": [bare, engine], "priority": 0, **tolerates})
    mirror.take(SHOP, {**body, "status": {"phase": "Running", "hostIP": "10.0.0.1"}})
    kept = mirror.get(SHOP, "web")
    told = {"args": ["--gpu-memory-utilization=0.2"], **asks}
    assert {"nodeName": "n0", "containers": [asks, told], **tolerates} == kept["spec"]
    assert {"phase": "Running"} == kept["status"]


def test_a_node_that_only_says_that_it_is_there_is_no_news(mirror):
    nodes = Scope(NODES)
    beats = [
        {"metadata": {"name": "n0", "resourceVersion": str(n)}, "status": {"conditions": [n]}} for n in (1, 2)
    ]
    mirror.take(nodes, beats[0])
    before = mirror.version
    mirror.take(nodes, beats[1])
    assert (before, "2") == (mirror.version, version_of(mirror.list(nodes)[0]))
    moved = {"name": "n0", "resourceVersion": "3", "labels": {"zone": "a"}}
    mirror.take(nodes, {**beats[1], "metadata": moved})
    assert before != mirror.version


@pytest.mark.parametrize("resource", SERVING, ids=lambda resource: resource.kind)
def test_of_what_serves_it_keeps_who_writes_replicas_and_no_other_field(mirror, resource):
    replicas, image = {"f:spec": {"f:replicas": {}}}, {"f:spec": {"f:template": {}}}
    fields = {"argocd-controller": {"f:spec": {**replicas["f:spec"], **image["f:spec"]}}, "kubectl": image}
    body = pod()
    body["metadata"]["managedFields"] = [{"manager": who, "fieldsV1": what} for who, what in fields.items()]
    scope = Scope(resource, "shop")
    mirror.take(scope, body)
    kept = mirror.get(scope, "web")["metadata"]["managedFields"]
    assert [{"manager": "argocd-controller", "fieldsV1": replicas}] == kept


@pytest.mark.parametrize(("second", "expected"), [(3, 3), (2, 2), (1, 2)])
def test_older_news_is_passed_over(mirror, second, expected):
    mirror.take(SHOP, pod(version=2))
    mirror.take(SHOP, pod(version=second))
    assert {"web": expected} == held(mirror)


def test_the_same_version_with_more_in_it_is_taken(mirror):
    mirror.take(SHOP, pod(version=2))
    before = mirror.version
    mirror.take(SHOP, pod(version=2, status={"phase": "Running"}))
    assert ("Running", True) == (mirror.get(SHOP, "web")["status"]["phase"], before != mirror.version)


@pytest.mark.parametrize(("deleted_at", "left"), [(3, {}), (2, {}), (1, {"web": 2})])
def test_the_end_of_an_older_object_of_that_name_is_passed_over(mirror, deleted_at, left):
    mirror.take(SHOP, pod(version=2))
    mirror.drop(SHOP, pod(version=deleted_at))
    assert left == held(mirror)


def test_the_end_of_what_is_not_known_is_no_news(mirror):
    before = mirror.version
    mirror.drop(SHOP, pod())
    assert before == mirror.version


def test_a_list_takes_the_place_of_all_that_is_not_newer(mirror):
    mirror.take(SHOP, pod("gone", 4))
    mirror.take(SHOP, pod("newer", 9))
    mirror.take(SHOP, pod("both", 8))
    mirror.replace(SHOP, [pod("both", 3), pod("new", 5)], "6")
    assert {"newer": 9, "both": 8, "new": 5} == held(mirror)


def test_a_scope_that_is_no_longer_served_is_forgotten(mirror):
    scope = Scope(PLANS, "shop")
    mirror.take(scope, pod())
    before = mirror.version
    mirror.clear(scope)
    assert ({}, True) == (held(mirror, scope), before != mirror.version)
    before = mirror.version
    mirror.clear(scope)
    assert before == mirror.version


def test_the_version_stays_while_nothing_changes(mirror):
    mirror.replace(SHOP, [pod()], "5")
    before = mirror.version
    mirror.replace(SHOP, [pod()], "7")
    mirror.take(SHOP, pod())
    mirror.list(SHOP)
    assert before == mirror.version == mirror.snapshot()[0]


def test_a_snapshot_joins_the_namespaces_of_a_resource(mirror):
    mirror.take(SHOP, pod())
    mirror.take(Scope(PODS, "lab"), pod("chat"))
    mirror.take(Scope(CLAIMS), pod("claim"))
    _, found = mirror.snapshot()
    assert {PODS: ["web", "chat"], CLAIMS: ["claim"]} == {
        resource: [body["metadata"]["name"] for body in bodies] for resource, bodies in found.items()
    }


@given(st.permutations([(name, version) for name in NAMES for version in (1, 2, 3)]))
def test_in_any_order_the_newest_of_each_is_left(news):
    mirror = Mirror()
    for name, version in news:
        mirror.take(SHOP, pod(name, version))
    assert dict.fromkeys(NAMES, 3) == held(mirror)
