"""A Deployment is switched from whole cards to instances on a real control plane, or left alone and told why.

The service is a process with the rights of deploy/rbac. A HorizontalPodAutoscaler scales its workload, so
that no copy can be made. What serves is read off pods and claims, never off what the service says.
"""

from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.kube.apiserver import MERGE
from actuator.kube.resources import BUDGETS, CLAIM_TEMPLATES, CLAIMS, DEPLOYMENTS, PLANS, PODS, REPLICA_SETS
from actuator.outcome import Outcome
from actuator.ways import with_ways
from allocator.decide import plan
from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.change import Verb
from fleet.shape import Configuration, Shape
from fleet.workload import Mode, Reshaping, Router
from foreslice.clock import WallClock
from foreslice.leave import run_restore
from simulator.pods import is_ready
from tests.builders.deciding import need, offers, question
from tests.builders.engines import MIX, workload
from tests.builders.execution import Goal
from tests.cluster.conftest import NEWEST
from tests.cluster.days import STEP_S, scraped
from tests.cluster.lab import until
from tests.cluster.permissions import bind, unbind
from tests.cluster.service import folder_of, service
from tests.cluster.shop import SHOP
from tests.cluster.test_ways import applied
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, deployment, standing
from tests.contract.test_floor_contract import autoscaler
from tests.prometheus.server import absent, back_fill, prometheus
from tests.unit.simulator.test_deployments import SHARED

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
FIRST = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
TERMS = Terms(Mode.FULL, Router.EQUAL, 1, {WHOLE: 1.0, HALF: 0.45}, need_keep=0.4)


@pytest.fixture
def cluster(shop):
    with shop.open() as opened:
        yield opened


def patch(shop, **spec):
    return shop.server.request("PATCH", DEPLOYMENTS.path(SHOP, "web"), {"spec": spec}, None, MERGE)


def turned(shop):
    """Have the owner roll something of his own out, for which there is no node."""
    patch(shop, template={"spec": {"nodeSelector": {"kubernetes.io/hostname": "none"}}})


def kept_by_git(shop):
    claim = {"name": "gpu", "resourceClaimTemplateName": "web-gpu"}
    spec = {"template": {"spec": {"resourceClaims": [claim]}}}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    applied(shop, DEPLOYMENTS.path(SHOP, "web"), body)


def guarded(shop):
    spec = {"minAvailable": "100%", "selector": {"matchLabels": {"app": "web"}}}
    shop.server.request("POST", BUDGETS.path(SHOP), {"metadata": {"name": "all"}, "spec": spec})


REFUSED = {
    "it may end pods first": (
        4,
        lambda shop: patch(shop, strategy={"rollingUpdate": {"maxUnavailable": "25%", "maxSurge": 1}}),
        "a rollout of Deployment web may take 1 of its replicas away before new ones are ready",
    ),
    "a rollout runs": (2, turned, "replicas of this workload are still leaving or being replaced"),
    "GitOps applies it": (
        1,
        kept_by_git,
        "resourceClaimTemplateName of Deployment web is kept by argocd-controller",
    ),
    "a budget forbids movement": (1, guarded, "PodDisruptionBudget all lets no ready replica go"),
}


@pytest.mark.parametrize(("replicas", "prepare", "why"), REFUSED.values(), ids=REFUSED)
def test_it_is_left_alone_and_why_is_said(shop, cluster, replicas, prepare, why):
    acting = with_ways(cluster, {}, switching=[WEB])
    patch(shop, strategy=FIRST, replicas=replicas)
    until(lambda: replicas == standing(acting).own.wanted)
    shop.settle(cluster)
    prepare(shop)
    try:
        until(lambda: why in said(acting))
        assert ["web-gpu"] == [each["metadata"]["name"] for each in shop.list(CLAIM_TEMPLATES)]
        [claim] = shop.list(DEPLOYMENTS)[0]["spec"]["template"]["spec"]["resourceClaims"]
        assert "web-gpu" == claim["resourceClaimTemplateName"]
    finally:
        shop.server.request("DELETE", BUDGETS.path(SHOP))


def said(acting):
    """Have an executor switch the workload in a dry run, and return why it would not."""
    seen = standing(acting)
    goal = Goal(WEB, Configuration({HALF: seen.own.wanted}))
    changes = diff(acting.view([WEB]), [goal], START_S)
    [result] = Executor(acting, dry_run=True).run(changes, {WEB: TERMS}, START_S)
    return result.reason if result.outcome is Outcome.HELD else ""


def under_way(shop, cluster, replicas=1):
    """Have the workload switched to halves of cards, and its first new pod not take over yet."""
    patch(shop, strategy=FIRST, replicas=replicas, minReadySeconds=3_600, progressDeadlineSeconds=7_200)
    until(lambda: replicas == standing(cluster).own.wanted)
    cluster.switch(WEB, HALF, expects=None)
    until(lambda: (replicas, 1) == parts(shop))


def parts(shop):
    """Return the replicas of the workload's ReplicaSets that name its owner's template, and of the others."""
    found = Counter()
    for body in shop.list(REPLICA_SETS):
        [claim] = body["spec"]["template"]["spec"]["resourceClaims"]
        found["web-gpu" == claim["resourceClaimTemplateName"]] += body["spec"]["replicas"]
    return found[True], found[False]


@pytest.mark.parametrize(("replicas", "halfway", "shared"), SHARED)
def test_a_real_controller_shares_other_replicas_among_old_and_new_as_the_embedded_one(
    shop, cluster, replicas, halfway, shared
):
    under_way(shop, cluster, replicas)
    patch(shop, replicas=halfway)
    until(lambda: shared == parts(shop))


def test_an_addition_goes_on_during_a_switch(shop, cluster):
    """Behind a router that spreads equally, and with more to be carried than the switch alone would carry."""
    under_way(shop, cluster)
    acting = with_ways(cluster, {}, switching=[WEB])
    until(lambda: Configuration({WHOLE: 1, HALF: 1}) == standing(acting).ready)
    changes = diff(acting.view([WEB]), [Goal(WEB, Configuration({HALF: 3}))], START_S)
    terms = replace(TERMS, need_keep=1.3, distrust=("stale",))
    [result] = Executor(acting).run(changes, {WEB: terms}, START_S)
    assert (Verb.SCALE_UP, Outcome.DONE) == (result.step.verb, result.outcome)
    until(lambda: 2 == standing(acting).ready.counts[HALF])


def test_a_template_that_its_history_names_stays_and_another_goes(shop, cluster):
    """So that an undo of the rollout finds it; once the ReplicaSet is gone, nothing would."""
    patch(shop, strategy=FIRST)
    shop.settle(cluster)
    cluster.switch(WEB, HALF, expects=None)
    shop.settle(cluster)
    [ours] = templates(shop) - {"web-gpu"}
    cluster.switch_back(WEB, "web-gpu", expects=None)
    shop.settle(cluster)
    cluster.sweep_templates(WEB)
    assert {"web-gpu", ours} == templates(shop)
    patch(shop, revisionHistoryLimit=0)
    until(lambda: 1 == len(shop.list(REPLICA_SETS)))
    cluster.sweep_templates(WEB)
    assert {"web-gpu"} == templates(shop)


def templates(shop):
    return {body["metadata"]["name"] for body in shop.list(CLAIM_TEMPLATES)}


def test_a_workload_that_was_switched_is_given_back_to_its_owners_template(shop, cluster, plane, tmp_path):
    acting = with_ways(cluster, {}, switching=[WEB])
    patch(shop, strategy=FIRST)
    shop.settle(cluster)
    goal, executor = Goal(WEB, Configuration({HALF: 1})), Executor(acting)

    def is_switched():
        executor.run(diff(acting.view([WEB]), [goal], START_S), {WEB: TERMS}, START_S)
        return goal.goal == standing(acting).ready and ["Done"] == states(shop)

    until(is_switched, every_s=0.2)
    settings = tmp_path / "foreslice.yaml"
    settings.write_text(RESTORED.format(kubeconfig=plane.kubeconfig))
    run_restore(settings, ["shop/web"], every=False, wait="2m", as_json=True)
    assert Configuration({WHOLE: 1}) == standing(acting).ready == standing(acting).wanted
    assert ("web-gpu", False) == (
        standing(acting).own.rollout.template,
        standing(acting).own.rollout.is_switched,
    )


def test_where_no_new_replica_fits_beside_the_old_ones_nothing_is_planned(shop, cluster):
    """Of two cards both are taken; with one replica there is room for the first new one."""
    acting = with_ways(cluster, {}, switching=[WEB])
    patch(shop, strategy=FIRST)
    shop.settle(cluster)
    assert (Configuration({HALF: 1}), ()) == planned(acting, work=0.3)
    patch(shop, replicas=2)
    until(lambda: 2 == standing(acting).own.wanted)
    shop.settle(cluster)
    goal, because = planned(acting, work=0.75)
    assert Configuration({WHOLE: 2}) == goal
    assert because[0].endswith("is not switched to 2 x 3g.40gb: no room for 1 x 3g.40gb beside 2 x whole")


def planned(acting, work):
    """Return what a plan makes of the workload, and why not another shape."""
    fleet, table = acting.view([WEB]), offers({"whole": 0.5, "3g.40gb": 0.4})
    who = replace(CHAT, key=WEB, mode=Mode.FULL, reshape=Reshaping.SWITCH)
    asked = question(fleet, [who], [replace(need(up=work), workload=WEB)], {"web": table})
    [decision] = plan(replace(asked, timing={WEB: Timing(trial_s=0.0)}))
    return decision.goal, tuple(why for why in decision.because if "not switched" in why)


RESTORED = """\
version: v1
metrics: {{source: prometheus, url: "http://127.0.0.1:9"}}
cluster: {{kind: kubernetes, kubeconfig: {kubeconfig}, lease_namespace: shop}}
workloads:
  - name: web
    namespace: shop
    model: qwen2.5-7b-bf16
    mode: full
    reshape: switch
    slo: {{ttft: {{p95: 1s}}}}
"""
CHAT = workload("chat", model="qwen3-8b-bf16")
INSTANCE = Shape(H100_80GB.id, "4g.40gb")
"""The cheapest that carries the night; of the halves of a card the one that carries more."""

WORK, HISTORY_S, AHEAD_S = 0.1, 3 * 3_600, 600
SETTINGS = """\
version: v1
metrics: {{source: prometheus, url: "{url}"}}
cluster: {{kind: kubernetes, kubeconfig: kubeconfig}}
acting: true
loop: {{tick: 1s, plan: 5s, lead: 10s, quiet: 5s, dwell: 5s, trial: 5s, shape_dwell: 5s, history: 3h}}
shrink: {{share: 1.0}}
http: {{port: 0}}
workloads:
  - name: chat
    namespace: shop
    model: qwen3-8b-bf16
    slo: {{ttft: {{p95: 1s}}, itl: {{p95: 50ms}}}}
    mode: full
    way: floor
    reshape: switch
"""
ROLES = ("foreslice-act-floor", "foreslice-act-switch")


@contextmanager
def chatting(shop):
    """Open the adapter on a shop with `chat` on a whole card, scaled by a HorizontalPodAutoscaler."""
    template, body = deployment("chat", 1)
    body["spec"] |= {"strategy": FIRST, "minReadySeconds": 5}
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 600
    try:
        with shop.cluster() as cluster:
            for each in (template, body, autoscaler(of="chat")):
                shop.create(cluster, each)
            shop.settle(cluster)
            yield cluster
    finally:
        shop.clear()


@contextmanager
def metrics(directory, shop):
    """A Prometheus that has scraped the pod which is there through a quiet night, until later."""
    [pod] = [each["metadata"]["name"] for each in shop.list(PODS)]
    now_s = int(WallClock().now_s())
    times = np.arange(now_s - HISTORY_S, now_s + AHEAD_S, STEP_S)
    model = CapacityModel([H100_80GB])
    asked = np.full(len(times), WORK * model.sustained(CHAT, Shape(H100_80GB.id), MIX))
    back_fill(directory, scraped(SHOP, "chat", times, asked, MIX, pod))
    with prometheus(directory) as url:
        yield url


def serving(shop):
    """Return what pods that are ready were given, by device."""
    claims = {claim["metadata"]["name"]: claim for claim in shop.list(CLAIMS)}
    found = Counter()
    for pod in filter(is_ready, shop.list(PODS)):
        [held] = pod["status"]["resourceClaimStatuses"]
        claim = claims.get(held["resourceClaimName"], {})
        for result in claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", ()):
            found[result["device"]] += 1
    return found


def carried(devices):
    """Return the work that devices carry behind a router that spreads equally."""
    model = CapacityModel([H100_80GB])
    known = model.capacities(CHAT, [Shape(H100_80GB.id), INSTANCE], [MIX])
    works = {"gpu-0": known[Shape(H100_80GB.id)], "gpu-1": known[Shape(H100_80GB.id)]}
    each = [works[d].work_low if d in works else known[INSTANCE].work_low for d in devices.elements()]
    return len(each) * min(each, default=0.0)


def test_at_night_an_autoscaled_workload_leaves_its_whole_card_and_never_serves_less_than_is_asked(
    shop, plane, tmp_path
):
    assert not absent(), "apt-get install prometheus"
    for role in ROLES:
        bind(shop.server, role)
    lowest = []
    try:
        with (
            folder_of(plane, shop, tmp_path, chatting(shop)) as folder,
            metrics(folder / "night", shop) as url,
        ):
            path = folder / "foreslice.yaml"
            path.write_text(SETTINGS.format(url=url))

            def is_switched():
                devices = serving(shop)
                lowest.append(carried(devices))
                return len(devices) == 1 and "mig-4g40gb" in next(iter(devices))

            with service(path):
                until(is_switched, within_s=180)
                until(lambda: ["Done"] == states(shop), within_s=60)
        assert min(lowest) >= WORK
    finally:
        for role in ROLES:
            unbind(shop.server, role)


def states(shop):
    return [step["state"] for body in shop.list(PLANS) for step in body["status"]["steps"]]
