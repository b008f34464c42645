"""What is open while the service runs on a cluster, and what is left when it ends."""

from contextlib import closing

import pytest

from actuator.kube.resources import LEASES
from foreslice.attached import Attached
from tests.fakes.apiserver import FakeServer

PATH = LEASES.path("foreslice")


@pytest.fixture
def server():
    made = FakeServer()
    made.objects[PATH] = {}
    return made


def test_who_may_act_stands_for_election_and_leads_from_the_start(server):
    with closing(Attached(server, ["shop"], "foreslice")) as attached:
        assert attached.cluster.is_leader()
        assert 1 == server.objects[PATH]["foreslice"]["spec"]["leaseTransitions"]


def test_the_second_one_waits_and_is_let_in_by_the_end_of_the_first(server):
    first, second = (Attached(server, ["shop"], "foreslice") for _ in range(2))
    with closing(second):
        assert [True, False] == [each.cluster.is_leader() for each in (first, second)]
        first.close()
        assert "" == server.objects[PATH]["foreslice"]["spec"]["holderIdentity"]


def test_who_only_observes_asks_nothing_of_leases(server):
    with closing(Attached(server, ["shop"], None)) as attached:
        assert attached.cluster.is_leader()
    assert [] == [path for _, path in server.asked if "leases" in path]


def test_everything_is_hung_up_in_the_end(server):
    Attached(server, ["shop"], None).close()
    assert server.is_closed


def test_what_cannot_be_opened_leaves_nothing_open(server):
    with pytest.raises(TypeError):
        Attached(server, None, "foreslice")
    assert (True, {}) == (server.is_closed, server.objects[PATH])
