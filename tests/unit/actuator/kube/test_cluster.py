"""What the real adapter asks of its API server; how a real one answers is under tests/cluster."""

import re
import time
from contextlib import closing
from dataclasses import replace
from threading import Timer

import pytest

from actuator.kube.cluster import KubeCluster
from actuator.kube.errors import NotFoundError, OwnedError
from actuator.kube.records import NO_PLANS
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS, NODES, PLANS, PODS, SLICES, STATEFUL_SETS
from actuator.manifest import key_of, version_of
from fleet.boards import H100_80GB
from fleet.change import Step, StepState, Verb
from fleet.errors import ConflictError, RefusedError, UnavailableError
from fleet.shape import Configuration
from fleet.workload import WorkloadKey
from simulator.driver import resource_slices
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, change, deployment
from tests.fakes.apiserver import FakeServer

FENCE = RefusedError("this process does not lead: b does")
WRITES = {
    "create": lambda cluster, plan: cluster.create_variant(WEB, "web-half", HALF),
    "scale": lambda cluster, plan: cluster.scale(WEB, "web", 2, expects=None),
    "record": lambda cluster, plan: cluster.record(change(goal=5)),
    "claim": lambda cluster, plan: cluster.claim_step(plan, 0, START_S),
    "finish": lambda cluster, plan: cluster.finish_step(plan, 0, StepState.DONE, START_S),
}


class Lead:
    """A fence that can be lost."""

    def __init__(self):
        self.lost = False

    def __call__(self):
        if self.lost:
            raise FENCE
        return 7


@pytest.fixture
def lead():
    return Lead()


@pytest.fixture
def server():
    made = FakeServer()
    for number, body in enumerate(resource_slices("n0", [H100_80GB])):
        made.put(SLICES.path(), {**body, "metadata": {"name": f"slice-{number}"}})
    template, web = deployment("web", replicas=1)
    made.put(CLAIM_TEMPLATES.path("shop"), template)
    made.put(
        DEPLOYMENTS.path("shop"), {**web, "metadata": {**web["metadata"], "uid": "u-1", "generation": 1}}
    )
    return made


@pytest.fixture
def cluster(server, lead):
    with closing(KubeCluster(server, ["shop"], lead)) as opened:
        opened.view([WEB])
        yield opened


def wanted(cluster, key=WEB):
    return cluster.view([key]).standing(key).wanted


def test_a_view_asks_nothing_once_everything_was_listed(server, cluster):
    before = list(server.asked)
    assert cluster.view([WEB]) is cluster.view([WEB])
    assert before == [each for each in server.asked if each[0] != "WATCH" or each in before]


def test_namespaces_of_workloads_are_watched_and_no_others(server, cluster):
    assert ({"shop"}, True) == (watched(server), cluster.view([]).standings == ())
    cluster.view([WorkloadKey("lab", "chat")])
    assert {"shop", "lab"} == watched(server)


def watched(server):
    asked = (path.split("/") for method, path in server.asked if method == "GET")
    return {path[5] for path in asked if path[-1] == "deployments"}


def test_what_we_write_is_seen_at_once(cluster):
    cluster.scale(WEB, "web", 3, expects=None)
    cluster.create_variant(WEB, "web-half", HALF)
    cluster.scale(WEB, "web-half", 2, expects=None)
    assert Configuration({WHOLE: 3, HALF: 2}) == wanted(cluster)


def test_replicas_are_written_through_the_scale_on_the_version_that_was_seen(server, cluster):
    path = DEPLOYMENTS.path("shop", "web", "scale")
    seen = version_of_web(cluster)
    cluster.scale(WEB, "web", 2, expects=seen)
    assert [("PATCH", path)] == server.writes()[-1:]
    with pytest.raises(ConflictError, match="modified"):
        cluster.scale(WEB, "web", 3, expects=seen)
    assert Configuration({WHOLE: 2}) == wanted(cluster)


def touch(server, **spec):
    """Change the Deployment, and have the adapter hear of it a moment later."""
    path = DEPLOYMENTS.path("shop")
    web = server.objects[path]["web"]
    metadata = {**web["metadata"], "generation": web["metadata"].get("generation", 1) + bool(spec)}
    stream, server.streams[path] = server.streams[path][-1], []
    held = server.put(path, {**web, "metadata": metadata, "spec": {**web["spec"], **spec}})
    server.streams[path] = [stream]
    Timer(0.05, stream.say, ("MODIFIED", held)).start()


def test_a_raise_goes_on_over_a_status_that_was_written_meanwhile(server, cluster):
    seen = version_of_web(cluster)
    touch(server)
    cluster.scale(WEB, "web", 3, expects=seen)
    assert Configuration({WHOLE: 3}) == wanted(cluster)


def test_so_it_does_where_the_status_was_heard_of_before_it_is_written(server, cluster):
    seen = version_of_web(cluster)
    touch_and_hear(server, cluster)
    cluster.scale(WEB, "web", 3, expects=seen)
    assert Configuration({WHOLE: 3}) == wanted(cluster)


def test_what_others_asked_for_meanwhile_stands_though_it_was_heard_of_and_a_status_since(server, cluster):
    seen = version_of_web(cluster)
    touch_and_hear(server, cluster, replicas=2)
    touch_and_hear(server, cluster)
    with pytest.raises(ConflictError, match="modified"):
        cluster.scale(WEB, "web", 3, expects=seen)
    assert Configuration({WHOLE: 2}) == wanted(cluster)


def version_of_web(cluster):
    return cluster.view([WEB]).standing(WEB).variants[0].version


def touch_and_hear(server, cluster, **spec):
    before = version_of_web(cluster)
    touch(server, **spec)
    while version_of_web(cluster) == before:
        time.sleep(0.005)


@pytest.mark.parametrize(("spec", "replicas"), [({}, 0), ({"replicas": 2}, 3)], ids=["fewer", "spec-changed"])
def test_nothing_else_goes_on_over_what_was_written_meanwhile(server, cluster, spec, replicas):
    seen = version_of_web(cluster)
    touch(server, **spec)
    with pytest.raises(ConflictError, match="modified"):
        cluster.scale(WEB, "web", replicas, expects=seen)
    assert spec.get("replicas", 1) == server.objects[DEPLOYMENTS.path("shop")]["web"]["spec"]["replicas"]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_nothing_is_written_by_who_does_not_lead(server, cluster, lead, write):
    plan = cluster.record(change())
    before = [each for each in server.writes() if each[0] != "WATCH"]
    lead.lost = True
    with pytest.raises(RefusedError, match="does not lead: b does"):
        write(cluster, plan)
    assert before == [each for each in server.writes() if each[0] != "WATCH"]


def test_it_says_whether_we_lead(cluster, lead):
    assert cluster.is_leader()
    lead.lost = True
    assert not cluster.is_leader()


def test_the_number_of_our_lead_stands_in_every_status_that_we_write(server, cluster):
    plan = cluster.record(change())
    cluster.claim_step(plan, 0, START_S)
    assert 7 == server.objects[PLANS.path("shop")][plan.change.name]["status"]["leaseTransitions"]


def test_a_plan_that_is_there_is_read_and_not_written(server, cluster):
    first = cluster.claim_step(cluster.record(change()), 0, START_S + 1)
    assert first == cluster.record(change(decided_at_s=START_S + 9))


def test_without_its_definition_plans_are_none_and_acting_says_what_to_do(server, lead):
    server.trouble[PLANS.path("shop")] = NotFoundError("404 page not found")
    with closing(KubeCluster(server, ["shop"], lead)) as cluster:
        assert Configuration({WHOLE: 1}) == wanted(cluster)
        assert () == cluster.plans(WEB)
        with pytest.raises(RefusedError) as said:
            cluster.record(change())
    assert NO_PLANS == str(said.value)


def test_a_variant_that_others_made_is_not_written_over(server, cluster):
    for stream in server.streams.values():
        stream[-1].shutdown()
    server.objects[DEPLOYMENTS.path("shop")]["web-half"] = {"metadata": {"name": "web-half"}}
    with pytest.raises(ConflictError, match="web-half already exists"):
        cluster.create_variant(WEB, "web-half", HALF)


def test_a_template_that_is_there_is_taken_as_it_is(server, cluster):
    (template,) = (each.after for each in cluster.rehearse(change(), change().steps)[1:2])
    held = server.put(CLAIM_TEMPLATES.path("shop"), template)
    cluster.create_variant(WEB, "web-half", HALF)
    assert held is server.objects[CLAIM_TEMPLATES.path("shop")][template["metadata"]["name"]]


def test_what_is_rehearsed_is_what_is_then_written(server, cluster):
    _, template, copy = cluster.rehearse(change(), change().steps)
    cluster.create_variant(WEB, "web-half", HALF)
    cluster.scale(WEB, "web-half", 3, expects=None)
    for path, said in ((CLAIM_TEMPLATES, template), (DEPLOYMENTS, copy)):
        held = server.objects[path.path("shop")][said.after["metadata"]["name"]]
        assert (said.after["spec"], said.after["metadata"]["labels"]) == (
            held["spec"],
            held["metadata"]["labels"],
        )


@pytest.mark.parametrize("kind", [CLAIM_TEMPLATES, DEPLOYMENTS], ids=["template", "copy"])
def test_a_variant_that_the_server_refuses_leaves_nothing_behind(server, cluster, kind):
    server.trouble[f"{kind.path('shop')}?dryRun"] = RefusedError("exceeded quota")
    with pytest.raises(RefusedError, match="exceeded quota"):
        cluster.create_variant(WEB, "web-half", HALF)
    assert [] == [each for each in server.writes() if each[0] == "POST"]


def test_a_claim_of_which_the_server_drops_a_field_is_not_written(server, cluster):
    """As of one that does not know the feature: the claim would be given something else."""
    create = server.create

    def dropping(path, body, *, is_dry=False):
        kept = create(path, body, is_dry=is_dry)
        if body["kind"] != CLAIM_TEMPLATES.kind:
            return kept
        (asked,) = kept["spec"]["spec"]["devices"]["requests"]
        exactly = {name: value for name, value in asked["exactly"].items() if name != "selectors"}
        devices = {"requests": [{**asked, "exactly": exactly}]}
        return {**kept, "spec": {"spec": {"devices": devices}}}

    server.create = dropping
    lost = "drops spec.spec.devices.requests[0].exactly.selectors of ResourceClaimTemplate web-half-"
    with pytest.raises(RefusedError, match=re.escape(lost)):
        cluster.create_variant(WEB, "web-half", HALF)
    assert [] == [each for each in server.writes() if each[0] == "POST"]
    _, template, _ = cluster.rehearse(change(), change().steps)
    assert lost in template.objection


def test_a_rehearsal_says_what_the_server_has_against_each_write(server, cluster):
    server.trouble[f"{DEPLOYMENTS.path('shop')}?dryRun"] = RefusedError("exceeded quota")
    server.trouble[f"{PLANS.path('shop')}?dryRun"] = NotFoundError("404 page not found")
    assert [NO_PLANS, "", "exceeded quota"] == [
        each.objection for each in cluster.rehearse(change(), change().steps)
    ]


def test_what_an_autoscaler_wrote_that_is_gone_keeps_no_write_back_rehearsed_or_done(server, cluster):
    """It is the last writer of the field in both, and would not write it again."""
    path = DEPLOYMENTS.path("shop", "web", "scale")
    wrote_last = OwnedError("conflict", ("kube-controller-manager",), ())
    server.trouble = {f"{path}?dryRun": [wrote_last], path: []}
    more = replace(change(), steps=(Step(Verb.SCALE_UP, "web", WHOLE, 2, None, "a peak ahead"),))
    assert "" == cluster.rehearse(more, more.steps)[-1].objection
    server.trouble = {path: [wrote_last]}
    cluster.scale(WEB, "web", 2, expects=None)
    assert Configuration({WHOLE: 2}) == wanted(cluster)


def test_a_stateful_set_is_scaled_by_its_own_scale_and_a_deployment_of_its_name_comes_first(server, lead):
    path = STATEFUL_SETS.path("shop")
    _, body = deployment("web", replicas=1)
    held = {"uid": "u-2", "generation": 1}
    server.put(path, {**body, "kind": "StatefulSet", "metadata": {**body["metadata"], **held}})
    with closing(KubeCluster(server, ["shop"], lead)) as cluster:
        assert cluster.view([WEB]).standing(WEB).may_have_variants
        web = server.objects[DEPLOYMENTS.path("shop")].pop("web")
        server.streams[DEPLOYMENTS.path("shop")][-1].say("DELETED", web)
        while cluster.view([WEB]).standing(WEB).may_have_variants:
            time.sleep(0.01)
        cluster.scale(WEB, "web", 2, expects=None)
        assert 2 == server.objects[path]["web"]["spec"]["replicas"]
        assert "StatefulSet" == cluster.reference(WEB)["kind"]


def test_nothing_is_seen_until_everything_was_listed_once(server, lead):
    server.trouble[PODS.path()] = UnavailableError("may not list pods")
    with closing(KubeCluster(server, ["shop"], lead)) as cluster:
        with pytest.raises(UnavailableError, match="may not list pods"):
            cluster.view([WEB])
        assert cluster.age_s() is None


def test_its_age_is_that_of_the_quietest_watch(cluster):
    assert 0 <= cluster.age_s() < 2


def test_the_version_is_that_of_the_view(server, cluster):
    before = cluster.version()
    assert before == cluster.view([WEB]).version
    held = cluster.scale(WEB, "web", 2, expects=None)
    assert (None, True) == (held, before != cluster.version() == cluster.view([WEB]).version)
    assert version_of(server.objects[DEPLOYMENTS.path("shop")]["web"]) == (
        cluster.view([WEB]).standing(WEB).variants[0].version
    )


def test_what_the_plugin_of_a_node_with_published_cards_says_is_no_kind_of_node(server, lead):
    """That node is the only one that says it offers instances as cards; its cards are taken by claims."""
    product = H100_80GB.product_names[0].replace(" ", "-")
    for name, label in (("n0", f"{product}-MIG-1g.10gb"), ("n1", product)):
        labels, offered = {"nvidia.com/gpu.product": label}, {"nvidia.com/gpu": "7"}
        node = {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": offered}}
        server.put(NODES.path(), node)
    _, body = deployment("plain", replicas=1)
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    body["spec"]["template"]["spec"] = {"containers": [container]}
    server.put(DEPLOYMENTS.path("shop"), {**body, "metadata": {**body["metadata"], "uid": "u-2"}})
    with closing(KubeCluster(server, ["shop"], lead)) as cluster:
        cluster.create_variant(key_of(body), "plain-half", HALF)
    made = server.objects[DEPLOYMENTS.path("shop")]["plain-half"]["spec"]["template"]["spec"]
    assert {"nvidia.com/mig-3g.40gb": "1"} == made["containers"][0]["resources"]["limits"]


@pytest.mark.parametrize(("memory", "offered"), [("0.2", 4), ("0.9", 1)])
def test_beside_a_tenant_of_a_time_slice_that_keeps_to_its_memory_there_is_room(
    server, lead, memory, offered
):
    """What it takes is told by its environment, of which nothing else is kept."""
    labels = {"nvidia.com/gpu.product": H100_80GB.product_names[0], "nvidia.com/gpu.replicas": "4"}
    node = {"metadata": {"name": "n9", "labels": labels}, "status": {"allocatable": {"nvidia.com/gpu": "4"}}}
    server.put(NODES.path(), node)
    container = {
        "name": "engine",
        "args": ["--gpu-memory-utilization=$(PART)"],
        "env": [{"name": "PART", "value": memory}],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    tenant = {
        "metadata": {"namespace": "others", "name": "tenant", "uid": "u-tenant"},
        "spec": {"nodeName": "n9", "containers": [container]},
    }
    server.put(PODS.path(), tenant)
    with closing(KubeCluster(server, ["shop"], lead)) as cluster:
        [pool] = [pool for pool in cluster.view([WEB]).pools if pool.node == "n9"]
    assert offered == len(pool.devices)
