"""What one workload of ours gives back goes to another that is short, not to a stranger who waits longer."""

from dataclasses import replace

import pytest

from allocator.decide import Decision
from allocator.room import room_of
from fleet.boards import H100_80GB
from fleet.host import Pods
from fleet.shape import NOTHING, Configuration
from fleet.workload import Mode, WorkloadKey
from foreslice.holding import Holding
from simulator.agents import start_control_plane, start_nodes
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.store import ObjectStore
from tests.builders.deciding import need, workload
from tests.builders.delays import Always
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, Containers, deployment
from tests.contract.test_holds_contract import STRANGER, stranger

CHAT = WorkloadKey("shop", "chat")
LONGEST_S, TICK_S = 1800.0, 10.0
ONE = Configuration({HALF: 1})


class Slow(Containers):
    """Engines that take half a minute to answer their last request."""

    def drain_s(self, _pod):
        return 30.0


class Town:
    """One card: `chat` has both halves, a stranger waits for one, and `web` needs one too."""

    def __init__(self):
        self.clock = VirtualClock(START_S)
        store = ObjectStore(self.clock)
        start_nodes(store, self.clock, {"n0": [H100_80GB]}, Slow(), Always())
        start_control_plane(store, self.clock, Always())
        self.cluster = EmbeddedCluster(store)
        for body in (*deployment("chat", replicas=0), *deployment("web", replicas=0)):
            store.create(body)
        for key in (CHAT, WEB):
            self.cluster.create_variant(key, f"{key.name}-half", HALF)
        self.cluster.scale(CHAT, "chat-half", 2, expects=None)
        self.wait(120.0)
        for body in stranger():
            store.create(body)
        self.wait(60.0)

    def wait(self, seconds=TICK_S):
        self.clock.run_until(self.clock.now_s + seconds)

    def view(self):
        return self.cluster.view([CHAT, WEB, STRANGER])

    def ready(self, key):
        return self.view().standing(key).ready

    def holding(self, mode=Mode.FULL):
        return Holding(self.cluster, [replace(workload(mode=mode), key=WEB)], LONGEST_S)

    def turn(self, holding, later=NOTHING, planned=()):
        """Let it hold what it would, and a tick pass; return what stands against it."""
        trouble = holding.turn(self.view(), [decision(later)], dict(planned), self.clock.now_s)
        self.wait()
        return trouble


def decision(later=NOTHING, goal=NOTHING):
    return Decision(WEB, need(), NOTHING, goal, 0.4, ("needed",), NOTHING, later)


@pytest.fixture
def town():
    return Town()


@pytest.mark.parametrize(("holds", "who"), [(True, WEB), (False, STRANGER)], ids=["held", "not-held"])
def test_room_that_is_given_back_goes_to_who_is_short(town, holds, who):
    holding = town.holding() if holds else town.holding(Mode.ADVISE)
    town.cluster.scale(CHAT, "chat-half", 1, expects=None)
    town.wait(1.0)
    later = ONE
    for _ in range(12):
        assert () == town.turn(holding, later)
        if later == ONE and room_of(town.view()).fill(HALF, 1, Pods(WEB, may_take_held=True))[0]:
            town.cluster.scale(WEB, "web-half", 1, expects=None)
            later = NOTHING
    assert {ONE, NOTHING} == {town.ready(WEB), town.ready(STRANGER)}
    assert ONE == town.ready(who)
    assert () == town.view().holds


def test_the_rest_of_a_move_is_held_from_the_trial_on_and_no_longer_than_once(town):
    town.cluster.scale(CHAT, "chat-half", 0, expects=None)
    town.cluster.scale(STRANGER, "stranger", 0, expects=None)
    town.wait(60.0)
    holding, begun_s = town.holding(), town.clock.now_s
    planned = {WEB: decision(ONE)}

    def turn():
        standings = tuple(
            replace(one, changed_at_s=begun_s if one.key == WEB else None) for one in town.view().standings
        )
        holding.turn(replace(town.view(), standings=standings), [decision()], planned, town.clock.now_s)
        return {hold.until_s for hold in town.view().holds}

    assert {begun_s + LONGEST_S} == turn()
    town.wait(LONGEST_S - TICK_S)
    assert {begun_s + LONGEST_S} == turn()
    town.wait(TICK_S)
    assert set() == turn()
    assert set() == turn()


def test_of_a_plan_that_was_not_followed_nothing_is_held(town):
    town.cluster.scale(CHAT, "chat-half", 0, expects=None)
    town.cluster.scale(STRANGER, "stranger", 0, expects=None)
    town.wait(60.0)
    town.turn(town.holding(), planned={WEB: decision(ONE, goal=Configuration({WHOLE: 1}))})
    assert () == town.view().holds


def test_where_a_scheduler_does_not_heed_it_nothing_is_held_any_more(town):
    town.cluster.scale(CHAT, "chat-half", 1, expects=None)
    town.wait(1.0)
    holding = town.holding()
    assert () == town.turn(holding, ONE)
    assert town.view().holds
    breached = replace(town.view(), breaches=("gpu-0 was given to others",))
    [said] = holding.turn(breached, [decision(ONE)], {}, town.clock.now_s)
    assert said.endswith("does not heed device taints: gpu-0 was given to others")
    assert () == town.view().holds
    assert (said,) == town.turn(holding, ONE)
    assert () == town.view().holds
