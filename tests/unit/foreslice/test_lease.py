"""One process leads, whatever stalls, fails or is deleted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actuator.kube.resources import LEASES
from fleet.errors import RefusedError, UnavailableError
from foreslice.lease import Candidate, Election, Pace, identity
from tests.fakes.apiserver import FakeServer

PACE = Pace(lease_s=15, lead_s=10.0, turn_s=0.01)
PATH = LEASES.path("foreslice")


class Clock:
    """Time that a test moves."""

    def __init__(self):
        self.now_s = 1000.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def server():
    made = FakeServer()
    made.objects[PATH] = {}
    return made


@pytest.fixture
def pair(server, clock):
    return [candidate(server, name, clock) for name in "ab"]


def candidate(server, name, clock):
    return Candidate(server, "foreslice", name, lambda: 1_750_000_000.0, PACE, clock)


def lease(server):
    return server.objects[PATH]["foreslice"]["spec"]


def test_who_asks_first_leads(pair, server):
    first, second = pair
    first.turn()
    second.turn()
    assert (True, False, 1) == (first.is_leader, second.is_leader, first.fence())
    assert {
        "holderIdentity": "a",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 1,
        "acquireTime": "2025-06-15T15:06:40.000000Z",
        "renewTime": "2025-06-15T15:06:40.000000Z",
    } == lease(server)


def test_who_does_not_lead_says_who_does(pair):
    first, second = pair
    with pytest.raises(RefusedError, match="this process does not lead: the lease has not been read yet"):
        first.fence()
    first.turn()
    second.turn()
    with pytest.raises(RefusedError, match="this process does not lead: a does"):
        second.fence()


def test_a_leader_that_renews_leads_on(pair, clock):
    first, second = pair
    for _ in range(30):
        first.turn()
        second.turn()
        clock.now_s += 2
        assert (True, False, 1) == (first.is_leader, second.is_leader, first.fence())


def test_a_leader_that_cannot_renew_stops_before_the_next_one_starts(pair, clock):
    first, second = pair
    first.turn()
    second.turn()
    clock.now_s += 9.9
    assert first.is_leader
    clock.now_s += 0.1
    assert not first.is_leader
    with pytest.raises(RefusedError, match="its lease was not renewed in time"):
        first.fence()
    second.turn()
    assert not second.is_leader
    clock.now_s += 5
    second.turn()
    assert 2 == second.fence()


def test_times_in_the_lease_are_not_believed(pair, clock, server):
    first, second = pair
    first.turn()
    clock.now_s += 3600
    second.turn()
    assert not second.is_leader
    clock.now_s += 15
    second.turn()
    assert second.is_leader


def test_a_lease_that_was_given_up_is_free_at_once(pair, server):
    first, second = pair
    first.turn()
    second.turn()
    first.release()
    second.turn()
    assert (False, 2) == (first.is_leader, second.fence())
    first.release()
    assert "b" == lease(server)["holderIdentity"]


def test_who_lost_the_lead_does_not_give_it_up_for_the_next_one(pair, clock, server):
    first, second = pair
    first.turn()
    second.turn()
    clock.now_s += 15
    second.turn()
    first.release()
    assert "b" == lease(server)["holderIdentity"]


def test_the_same_process_takes_up_a_lease_that_ran_out_under_the_same_number(pair, clock):
    first, _ = pair
    first.turn()
    clock.now_s += 60
    first.turn()
    assert 1 == first.fence()


@pytest.mark.parametrize("error", [UnavailableError("no answer"), RefusedError("may not update leases")])
def test_trouble_costs_the_lead_only_when_it_lasts(pair, clock, server, error):
    first, _ = pair
    first.turn()
    server.trouble[PATH] = error
    clock.now_s += 9
    first.turn()
    assert first.is_leader
    clock.now_s += 1
    with pytest.raises(RefusedError, match=str(error)):
        first.fence()
    first.release()
    server.trouble.clear()
    first.turn()
    assert first.is_leader


def test_of_two_that_take_over_at_once_one_leads(server, clock):
    old, quick = candidate(server, "old", clock), candidate(server, "quick", clock)

    class Slow(FakeServer):
        """Lets the other one write between reading and writing."""

        def request(self, method, *rest):
            if method == "PUT":
                quick.turn()
            return server.request(method, *rest)

    slow = candidate(Slow(), "slow", clock)
    for each in (old, quick, slow):
        each.turn()
    clock.now_s += 15
    slow.turn()
    assert (True, False) == (quick.is_leader, slow.is_leader)
    with pytest.raises(RefusedError, match="the object has been modified"):
        slow.fence()


@given(st.lists(st.tuples(st.sampled_from("abc-"), st.floats(0.1, 20.0), st.booleans()), max_size=60))
def test_two_never_lead_and_the_number_grows_with_every_hand_over(events):
    clock, server = Clock(), FakeServer()
    server.objects[PATH] = {}
    parties = {name: candidate(server, name, clock) for name in "abc"}
    terms = []
    for name, wait_s, is_cut in events:
        clock.now_s += wait_s
        server.trouble = {PATH: UnavailableError("cut off")} if is_cut else {}
        if name in parties:
            parties[name].turn()
        leaders = [each for each, party in parties.items() if party.is_leader]
        assert len(leaders) <= 1
        terms += [(parties[each].fence(), each) for each in leaders]
    assert terms == sorted(terms, key=lambda term: term[0])
    assert len(set(terms)) == len({number for number, _ in terms})


def test_an_election_turns_by_itself_and_gives_the_lease_up(server, clock):
    party = candidate(server, "a", clock)
    election = Election(party)
    while not party.is_leader:
        pass
    election.close()
    assert (False, "") == (party.is_leader, lease(server)["holderIdentity"])


def test_no_two_processes_have_one_name():
    assert identity() != identity()
