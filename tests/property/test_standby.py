"""Whatever goes wrong with whichever write or call: never two awake, no request lost, and all converges.

Complete: every write of the pool's objects and every call of an engine that is made without trouble is the
one that goes wrong once. Requests are judged by the router of the simulated engines, memory by the device.
"""

from itertools import count

import pytest

from actuator.standby.engines import sleeping_engines
from actuator.standby.keeper import Keeper, Wanted
from actuator.standby.objects import ObjectDormitory
from fleet.boards import H100_80GB
from fleet.errors import ForesliceError
from fleet.standby import EngineState
from fleet.workload import WorkloadKey
from simulator.api import POD
from simulator.sleep import Naps, Stage
from simulator.standby import PoolObjects
from tests.builders.dormitory import WHOLE, Dormitory
from tests.builders.stage import SPRINGS
from tests.fakes.cluster import Killed

ANT, BEE = WorkloadKey("shop", "ant"), WorkloadKey("shop", "bee")
MEMBERS = frozenset({ANT, BEE})
TURN_S = 5.0
TURNS = 58
WRITES = ("hold", "board", "remove", "turn")
ASKS = ("sleep", "wake")


class Trapped:
    """A port of whose writes or calls one goes wrong; ports that share a tally are counted together."""

    def __init__(self, port, verbs, tally):
        self._port = port
        self._verbs = verbs
        self._tally = tally

    def __getattr__(self, verb):
        call = getattr(self._port, verb)
        return call if verb not in self._verbs else lambda *args, **named: self._tally.made(call, args, named)


class Tally:
    """Counts calls, and springs at one of them."""

    def __init__(self, number, spring):
        self._left = number
        self._spring = spring

    @property
    def is_sprung(self):
        return self._left <= 0

    def made(self, call, args, named):
        self._left -= 1
        return call(*args, **named) if self._left else self._spring(lambda: call(*args, **named))


def trapped(objects, doors, tally):
    """Writes and calls, counted together in the order in which they are made."""
    return Trapped(objects, WRITES, tally), Trapped(doors, ASKS, tally)


def wish_at(turn):
    """Who is needed: nobody while all load, then one, then nobody, then the other, then nobody."""
    return ANT if 10 <= turn < 24 else BEE if 30 <= turn < 44 else None


def keeper(place, trap):
    objects = ObjectDormitory(PoolObjects(place.store), [H100_80GB], sleeping_engines()["vllm"], 0.9)
    return Keeper(*trap(objects, place.mode))


def play(place, trap=lambda *ports: ports):
    """Turn a keeper through it all; killed, another takes its place. Yield the time's end of every turn."""
    keeper(place, lambda *ports: ports).dormitory.add("shop", "s", WHOLE)
    turning = keeper(place, trap)
    for turn in range(TURNS):
        try:
            list(
                turning.turn(
                    turning.dormitory.slices("shop"), {"s": Wanted(MEMBERS, wish_at(turn))}, place.now_s
                )
            )
        except Killed:
            turning = keeper(place, lambda *ports: ports)
        except ForesliceError:
            pass  # the service says so, and goes on with the next turn
        place.wait(TURN_S)
        yield turn


def awake(place):
    stages = {name: place.mode.stage(f"{name}-s") for name in ("ant", "bee")}
    return [name for name, stage in stages.items() if stage not in {None, Stage.ASLEEP}]


def standing(place):
    (pool,) = keeper(place, lambda *ports: ports).dormitory.slices("shop")
    return pool


def survives(spring, number):
    """Play it all with trouble at one write or call; return whether there were so many."""
    place, tally = Dormitory(), Tally(number, spring)

    served = set()
    for _ in play(place, lambda objects, doors: trapped(objects, doors, tally)):
        served |= {name for name in ("ant", "bee") if place.is_ready(f"{name}-s")}
    pool = standing(place)
    states = {place.mode.state(sleeper) for sleeper in pool.sleepers}
    assert (None, {EngineState.ASLEEP}, 2) == (pool.hold, states, len(pool.sleepers)), f"call {number}"
    assert ([], {"ant", "bee"}, 0.0) == (place.mode.collisions, served, place.lost()), f"call {number}"
    return tally.is_sprung


def test_one_is_woken_and_put_back_and_another_woken_on_the_same_slice():
    place = Dormitory()
    seen = [(turn, awake(place), place.is_ready("ant-s"), place.is_ready("bee-s")) for turn in play(place)]
    assert all(len(names) <= 1 for _, names, _, _ in seen)
    first = {name: min(turn for turn, *ready in seen if ready[at]) for name, at in (("ant", 1), ("bee", 2))}
    assert {"ant": 11, "bee": 31} == first
    assert ([], 0.0) == (awake(place), place.lost())


CALLED = 22
"""Writes and calls that it takes if nothing goes wrong, at least: four to let each in, seven to wake it."""


def with_trouble_anywhere(spring):
    """Play it once for every write and call; return how many there were."""
    for number in count(1):
        if not survives(spring, number):
            return number - 1
    raise AssertionError


@pytest.mark.parametrize("spring", SPRINGS)
def test_whatever_goes_wrong_with_any_write_or_call_the_end_is_the_same(spring):
    assert CALLED <= with_trouble_anywhere(SPRINGS[spring])


def test_another_keeper_that_turns_right_before_any_write_or_call_does_no_harm():
    """Two that both believe to lead: one goes on with what it saw before the other turned."""
    place = None

    class Meanwhile(Dormitory):
        def __init__(self):
            nonlocal place
            super().__init__()
            place = self

    def meanwhile(call):
        other = keeper(place, lambda *ports: ports)
        wanted = {"s": Wanted(MEMBERS, wish_at(round((place.now_s - 60.0) / TURN_S)))}
        list(other.turn(other.dormitory.slices("shop"), wanted, place.now_s))
        return call()

    def played(number):
        made, tally = Meanwhile(), Tally(number, meanwhile)
        for _ in play(made, lambda objects, doors: trapped(objects, doors, tally)):
            assert len(awake(made)) <= 1
        assert ([], 0.0, None) == (made.mode.collisions, made.lost(), standing(made).hold), f"call {number}"
        return tally.is_sprung

    assert CALLED <= next(number for number in count(1) if not played(number))


@pytest.mark.parametrize("kind", ["stuck_wake", "stuck_sleep"])
def test_an_engine_that_sticks_is_barred_and_its_pod_ends_and_nobody_else_loses_anything(kind):
    place = Dormitory(Naps(1, **{kind: 1.0}))
    for turn in play(place):
        if turn > 50:
            break
    late_s = place.now_s
    turning = keeper(place, lambda *ports: ports)
    while place.now_s < late_s + 1500:
        list(turning.turn(turning.dormitory.slices("shop"), {"s": Wanted(MEMBERS)}, place.now_s))
        place.wait(TURN_S)
    pool = standing(place)
    assert pool.barred.keys() <= MEMBERS
    assert pool.barred
    assert ([], 0.0) == (place.mode.collisions, place.lost())
    assert not place.is_ready("ant-s")


def test_a_pod_that_is_lost_while_it_serves_costs_the_insurance_and_it_comes_back():
    place = Dormitory()
    for turn in play(place):
        if turn == 15:
            assert place.is_ready("ant-s")
            place.store.delete(POD, "shop", "ant-s", grace_s=0)
    pool = standing(place)
    assert ({"ant-s", "bee-s"}, None) == ({each.pod for each in pool.sleepers}, pool.hold)
    assert ([], {EngineState.ASLEEP}) == (
        place.mode.collisions,
        {place.mode.state(each) for each in pool.sleepers},
    )


def test_without_host_memory_for_the_second_it_is_given_up_and_the_first_serves():
    place = Dormitory(host_gib=20.0)
    served = False
    turning = keeper(place, lambda *ports: ports)
    turning.dormitory.add("shop", "s", WHOLE)
    for turn in range(400):
        wish = ANT if turn > 300 else None
        list(turning.turn(turning.dormitory.slices("shop"), {"s": Wanted(MEMBERS, wish)}, place.now_s))
        place.wait(TURN_S)
        served = served or place.is_ready("ant-s")
    assert (True, [], 0.0) == (served, place.mode.collisions, place.lost())
    assert {BEE} == set(standing(place).barred)


def test_a_slice_that_is_not_wanted_any_more_goes_once_all_have_left():
    place = Dormitory()
    for turn in play(place):
        if turn == 12:
            break
    turning = keeper(place, lambda *ports: ports)
    for _ in range(60):
        list(turning.turn(turning.dormitory.slices("shop"), {}, place.now_s))
        place.wait(TURN_S)
    assert ([], 0.0) == (list(turning.dormitory.slices("shop")), place.lost())
