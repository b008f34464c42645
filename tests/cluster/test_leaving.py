"""Workloads are held off, given back, and looked after by the watchdog, on a real API server."""

import json
from dataclasses import replace

import pytest

from actuator.execute import Executor
from actuator.gate import Terms
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS, LEASES
from actuator.manifest import timestamp_of
from actuator.outcome import Outcome
from fleet.restraints import Approval
from fleet.shape import Configuration
from fleet.workload import Mode, Router
from foreslice.clock import WallClock
from foreslice.leave import run_restore, run_watchdog
from foreslice.owners import run_approve, run_hold, run_pause
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.shop import SHOP
from tests.cluster.test_kube_execution import GOAL, TERMS, wanted_now
from tests.contract.test_beside_contract import BESIDE
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, change, deployment, standing
from tests.property.test_crash_points import Acting

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
SETTINGS = """
version: v1
metrics: {source: prometheus, url: "http://127.0.0.1:9"}
cluster: {kind: kubernetes, kubeconfig: %s, lease_namespace: shop}
workloads:
  - {name: web, namespace: shop, model: qwen2.5-7b-bf16, mode: full, slo: {ttft: {p95: 1s}}}
"""


@pytest.fixture
def settings(plane, tmp_path):
    path = tmp_path / "foreslice.yaml"
    path.write_text(SETTINGS % plane.kubeconfig)
    return path


@pytest.fixture
def cluster(shop):
    with shop.open() as opened:
        yield opened


@pytest.fixture
def lease(shop):
    """Have the Lease as if it had been renewed so many seconds ago."""
    path = LEASES.path(SHOP)

    def renewed(seconds_ago):
        spec = {"holderIdentity": "a", "renewTime": timestamp_of(WallClock().now_s() - seconds_ago)}
        shop.server.request("POST", path, {"metadata": {"name": "foreslice"}, "spec": spec})

    yield renewed
    shop.server.request("DELETE", path)


def moved(cluster):
    """Have a workload moved from its whole card to two halves, as the service would."""
    executor = Executor(cluster)

    def tick():
        executor.run([wanted_now(cluster, START_S)], TERMS, START_S)
        return GOAL == standing(cluster).ready

    until(tick, every_s=0.2)


def answer(capsys):
    return json.loads(capsys.readouterr().out)


def test_a_workload_that_is_paused_is_left_alone_until_it_is_resumed(cluster, settings, capsys):
    run_pause(settings, ["shop/web"], every=False, is_paused=True, as_json=True)
    assert {"paused": ["shop/web"]} == answer(capsys)
    until(lambda: Mode.FORECAST_ONLY == standing(cluster).permits)

    terms = {WEB: Terms(Mode.FULL, Router.EQUAL, 1, {WHOLE: 1.0}, need_keep=0.0)}
    results = Executor(cluster).run([wanted_now(cluster, START_S)], terms, START_S)
    assert "annotated mode forecast-only adds nothing" == results[0].reason
    assert {Outcome.HELD} == {result.outcome for result in results}

    run_pause(settings, [], every=True, is_paused=False, as_json=True)
    assert {"resumed": ["shop/web"]} == answer(capsys)
    until(lambda: Mode.FULL == standing(cluster).permits)


def test_what_is_held_and_agreed_to_is_seen_until_it_is_taken_back(cluster, settings, capsys):
    run_hold(settings, ["shop/web"], every=False, until="2099-01-01T00:00Z", as_json=True)
    assert {"held": ["shop/web"], "until": "2099-01-01T00:00:00Z"} == answer(capsys)
    run_approve(settings, "shop/web", goal="2 x it", until="2099-01-01T00:00Z", as_json=True)
    assert "2 x it" == answer(capsys)["approved"]
    until(lambda: standing(cluster).approval)
    assert (4070908800.0, Approval("2 x it", 4070908800.0)) == (
        standing(cluster).held_until_s,
        standing(cluster).approval,
    )

    run_pause(settings, ["shop/web"], every=False, is_paused=False, as_json=True)
    until(lambda: standing(cluster).held_until_s < 0)


def test_a_workload_is_given_back_on_its_own_deployment_and_copies_are_gone(shop, cluster, settings, capsys):
    moved(cluster)

    run_restore(settings, ["shop/web"], every=False, wait="2m", as_json=True)

    told = answer(capsys)
    assert (["shop/web"], ["web-half"]) == (told["restored"], told["ended"])
    until(lambda: Configuration({WHOLE: 1}) == standing(cluster).ready)
    assert ["web"] == [body["metadata"]["name"] for body in shop.list(DEPLOYMENTS)]
    assert ["web-gpu"] == [body["metadata"]["name"] for body in shop.list(CLAIM_TEMPLATES)]
    assert Mode.FORECAST_ONLY == standing(cluster).permits


@pytest.fixture
def flanked(shop, settings):
    """A shop whose owner has a Deployment on halves beside `web`, at zero, and says so in settings."""
    settings.write_text(settings.read_text().replace("mode: full", "mode: full, variants: [by-owner]"))
    with shop.open(beside=BESIDE) as opened:
        for body in deployment("by-owner", 0, HALF):
            shop.create(opened, body)
        until(lambda: not standing(opened).left_out)
        yield opened


def test_what_is_on_its_owners_other_deployment_is_given_back_and_that_one_stays(
    shop, flanked, settings, capsys
):
    process, began_s = Acting(flanked, {HALF: 2}, need_keep=0.5), WallClock().now_s()

    def tick():
        process.tick(began_s)
        return Configuration({HALF: 2}) == standing(flanked).ready

    until(tick, every_s=0.2)

    run_restore(settings, ["shop/web"], every=False, wait="2m", as_json=True)

    assert [] == answer(capsys)["ended"]
    until(lambda: Configuration({WHOLE: 1}) == standing(flanked).ready)
    assert ["by-owner", "web"] == sorted(body["metadata"]["name"] for body in shop.list(DEPLOYMENTS))
    assert ["by-owner-gpu", "web-gpu"] == sorted(
        body["metadata"]["name"] for body in shop.list(CLAIM_TEMPLATES)
    )


def test_the_watchdog_raises_what_stood_on_its_owners_other_deployment_there(flanked, settings, capsys):
    before = Configuration({WHOLE: 1, HALF: 1})
    flanked.record(replace(change(), start=before))

    run_watchdog(settings, after="10m", as_json=True)

    assert [("by-owner", 1, "done")] == [
        (step["variant"], step["replicas"], step["outcome"]) for step in answer(capsys)["steps"]
    ]
    until(lambda: before == standing(flanked).ready)


def test_while_somebody_leads_the_watchdog_does_nothing(cluster, settings, lease, capsys):
    cluster.record(change())
    cluster.scale(WEB, "web", 0, expects=None)
    lease(30)

    run_watchdog(settings, after="10m", as_json=True)

    assert [] == answer(capsys)["steps"]
    assert Configuration() == standing(cluster).wanted


@pytest.mark.parametrize("renewed_s_ago", [700, None], ids=["long ago", "never"])
def test_once_nobody_leads_the_watchdog_raises_what_stands_too_low(
    cluster, settings, lease, capsys, renewed_s_ago
):
    cluster.record(change())
    cluster.scale(WEB, "web", 0, expects=None)
    if renewed_s_ago is not None:
        lease(renewed_s_ago)

    run_watchdog(settings, after="10m", as_json=True)

    assert [("web", 1, "done")] == [
        (step["variant"], step["replicas"], step["outcome"]) for step in answer(capsys)["steps"]
    ]
    until(lambda: Configuration({WHOLE: 1}) == standing(cluster).ready)
    run_watchdog(settings, after="10m", as_json=True)
    assert [] == answer(capsys)["steps"]
