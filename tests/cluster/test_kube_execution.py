"""The executor on a real control plane: from a whole card to two halves, and what is kept of it."""

import subprocess
from contextlib import ExitStack

import pytest

from actuator.execute import Executor
from actuator.gate import Terms
from actuator.kube.apiserver import MERGE
from actuator.kube.resources import CLAIM_TEMPLATES, CLAIMS, PLANS, PODS
from actuator.objects.plans import is_open
from actuator.outcome import Outcome
from actuator.settle import is_there
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.errors import RefusedError
from fleet.shape import Configuration
from fleet.workload import Mode, Router
from tests.builders.stage import SPRINGS, Trap
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.cluster.shop import SHOP
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, change, standing
from tests.controlplane.build import CONTROL_PLANE
from tests.fakes.cluster import Killed

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
GOAL = Configuration({HALF: 2})
TERMS = {WEB: Terms(Mode.FULL, Router.EQUAL, 1, {WHOLE: 1.0, HALF: 0.5}, need_keep=0.5)}


@pytest.fixture
def cluster(shop):
    with shop.open() as opened:
        yield opened


def wanted_now(cluster, at_s):
    """Return what is left to be done for the goal, as a tick would."""
    seen = standing(cluster)
    versions = {variant.name: variant.version for variant in seen.variants}
    steps = (
        Step(Verb.CREATE_VARIANT, "web-half", HALF, 0, None, "a smaller shape"),
        Step(Verb.SCALE_UP, "web-half", HALF, 2, versions.get("web-half"), "a peak ahead"),
        Step(Verb.SCALE_DOWN, "web", WHOLE, 0, versions["web"], "halves carry it"),
    )
    left = tuple(step for step in steps if not is_there(seen, step))
    return ChangeSet(WEB, seen.wanted, GOAL, left, at_s)


def test_halves_serve_before_the_whole_card_goes_and_one_plan_tells_of_it(shop, cluster):
    executor = Executor(cluster)
    ticks = []

    def tick():
        at_s = START_S + 10 * len(ticks)
        served = [v.shape for v in standing(cluster).variants for r in v.replicas if r.is_ready]
        results = executor.run([wanted_now(cluster, at_s)], TERMS, at_s)
        ticks.append((served, [result.outcome for result in results]))
        return GOAL == standing(cluster).ready

    until(tick, every_s=0.2)
    first_served, first = ticks[0]
    assert ([WHOLE], [Outcome.DONE, Outcome.DONE, Outcome.HELD]) == (first_served, first)
    assert all(served for served, _ in ticks)
    (plan,) = cluster.plans(WEB)
    assert [StepState.DONE] * 3 == [step.state for step in plan.steps]
    assert GOAL == plan.change.goal


@pytest.mark.parametrize(
    ("number", "spring"), [(2, "killed-after"), (4, "killed-before"), (6, "timeout"), (9, "killed-after")]
)
def test_broken_off_at_a_write_another_process_goes_on_from_the_cluster_alone(shop, cluster, number, spring):
    """A sample of what tests/property/test_crash_points.py does for every write."""
    trap, served = Trap(cluster, number, SPRINGS[spring]), []
    with ExitStack() as others:
        acting = Executor(trap)

        def tick():
            nonlocal acting
            served.append([v.shape for v in standing(cluster).variants for r in v.replicas if r.is_ready])
            try:
                acting.run([wanted_now(cluster, START_S)], TERMS, START_S)
            except Killed:
                acting = Executor(others.enter_context(shop.cluster()))
            return GOAL == standing(cluster).ready

        until(tick, every_s=0.2)
    assert (True, True) == (trap.is_sprung, all(served))
    shop.settle(cluster)
    assert len(shop.list(PODS)) == len(shop.list(CLAIMS)) == 2
    assert 2 == len(shop.list(CLAIM_TEMPLATES))
    until(lambda: not [plan for plan in ended(cluster) if is_open(plan)])


def ended(cluster):
    """Return the kept plans after a tick to which nothing is left to be done."""
    Executor(cluster).run([ChangeSet(WEB, GOAL, GOAL, (), START_S)], TERMS, START_S)
    return cluster.plans(WEB)


def test_a_plan_reads_as_a_table(shop, cluster, plane):
    plan = cluster.claim_step(cluster.record(change()), 0, START_S)
    kubectl = [
        CONTROL_PLANE.folder() / "kubectl",
        f"--kubeconfig={plane.kubeconfig}",
        "-n",
        SHOP,
        "get",
        "fractionplans",
    ]
    said = subprocess.run(kubectl, check=True, capture_output=True, text=True, timeout=60).stdout
    heads, row = said.splitlines()
    assert ["NAME", "TARGET", "STEPS", "STATE", "DECIDED"] == heads.split()
    assert [plan.change.name, "web"] == row.split()[:2]
    assert ("create-variant" in row, "Claimed" in row) == (True, True)


def test_what_a_plan_says_is_written_once(shop, cluster):
    name = cluster.record(change()).change.name
    with pytest.raises(RefusedError, match="a plan is written once"):
        merge(shop, name, {"spec": {"decidedAt": "2026-01-01T00:00:00Z"}})


@pytest.mark.parametrize(
    ("part", "body"),
    [
        ("", {"spec": {"steps": [{"verb": "delete"}]}}),
        ("/status", {"status": {"steps": [{"state": "Perhaps", "at": "2026-01-01T00:00:00Z"}]}}),
        ("/status", {"status": {"steps": [{"state": "Done", "at": "yesterday"}]}}),
    ],
    ids=["verb", "state", "time"],
)
def test_what_is_no_plan_is_refused(shop, cluster, part, body):
    name = cluster.record(change()).change.name
    with pytest.raises(RefusedError):
        merge(shop, name, body, part)


def merge(shop, name, body, part=""):
    path = PLANS.path(SHOP, name) + part
    return shop.server.request("PATCH", path, body, None, MERGE)
