"""One process leads: hand-over, stalls, and writes that are on their way when the lead is lost."""

import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from actuator.kube.connect import connect
from actuator.kube.resources import DEPLOYMENTS, LEASES
from fleet.errors import ConflictError, RefusedError
from foreslice.clock import WallClock
from foreslice.lease import Candidate, Election
from tests.cluster.conftest import NEWEST
from tests.cluster.faults import kubeconfig, proxy_of
from tests.cluster.lab import WITHIN_S, until
from tests.cluster.leader import PACE
from tests.contract.test_cluster_contract import START_S, WEB, change, standing

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def served(shop):
    """The shop with Deployment `web`, and no lease yet."""
    try:
        with shop.open():
            yield shop
    finally:
        shop.server.request("DELETE", LEASES.path("default"))


def candidate(server, name, *pace):
    return Candidate(server, "default", name, WallClock().now_s, *pace)


def replicas(shop):
    (web,) = shop.list(DEPLOYMENTS)
    return web["spec"]["replicas"]


def test_the_next_one_leads_at_its_first_look_after_an_orderly_end(served):
    """It looks once a second, so that two seconds are enough."""
    first, second = (candidate(served.server, name) for name in "ab")
    with closing(Election(first)):
        until(lambda: first.is_leader)
        second.turn()
        assert (1, False) == (first.fence(), second.is_leader)
    second.turn()
    assert (2, 1.0) == (second.fence(), second.pace.turn_s)
    with pytest.raises(RefusedError, match="it has given the lease up"):
        first.fence()


def test_a_stalled_leader_has_lost_the_lead_before_another_one_has_it(served):
    first, second = (candidate(served.server, name, PACE) for name in "ab")
    first.turn()
    began_s = time.monotonic()
    with closing(Election(second)):
        until(lambda: second.is_leader)
        assert PACE.lease_s <= time.monotonic() - began_s + PACE.turn_s
        assert not first.is_leader
        first.turn()
        with pytest.raises(RefusedError, match="this process does not lead: b does"):
            first.fence()


def test_a_process_that_was_stopped_writes_nothing_when_it_goes_on(served, plane):
    command = [sys.executable, "-m", "tests.cluster.leader", str(plane.kubeconfig)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as stalled:
        try:
            assert "claimed\n" == stalled.stdout.readline()
            stalled.send_signal(signal.SIGSTOP)
            next_one = candidate(served.server, "next", PACE)
            with closing(Election(next_one)), served.cluster(next_one.fence) as cluster:
                until(lambda: next_one.is_leader)
                taken = cluster.claim_step(cluster.plans(WEB)[0], 0, START_S + 1)
                stalled.send_signal(signal.SIGCONT)
                said, _ = stalled.communicate("go\n", timeout=WITHIN_S)
                assert ["this process does not lead"] * 3 == [
                    line.partition(":")[0] for line in said.splitlines()
                ]
                assert (taken,) == cluster.plans(WEB)
        finally:
            stalled.kill()
    assert 1 == replicas(served)


def test_a_write_on_its_way_comes_too_late_once_the_next_leader_has_written(served, plane, tmp_path):
    with (
        proxy_of(plane) as proxy,
        closing(connect(kubeconfig(tmp_path / "kubeconfig", proxy.url, "admin"))) as slow,
    ):
        first, second = candidate(slow, "a", PACE), candidate(served.server, "b", PACE)
        first.turn()
        with served.cluster(first.fence, slow) as late, served.cluster(second.fence) as cluster:
            seen = standing(late).variants[0].version
            late.claim_step(late.record(change()), 0, START_S)
            hold, became = Event(), []
            sent = proxy.add("PATCH", "/scale", times=2, hold=hold)
            writing = Thread(target=lambda: became.append(outcome(late, seen)))
            writing.start()
            assert sent.met.wait(WITHIN_S)
            with closing(Election(second)):
                until(lambda: second.is_leader)
                cluster.scale(WEB, "web", 2, expects=standing(cluster).variants[0].version)
                hold.set()
                writing.join()
        assert [ConflictError] == [type(error) for error in became]
    assert 2 == replicas(served)


def outcome(cluster, seen):
    try:
        cluster.scale(WEB, "web", 0, expects=seen)
    except (ConflictError, RefusedError) as error:
        return error
    return None
