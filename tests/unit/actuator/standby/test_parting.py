"""A workload leaves the pool for good: whoever serves ends its requests first, and others sleep on."""

import pytest

from actuator.objects.restraints import PAUSED
from actuator.standby.engines import sleeping_engines
from actuator.standby.keeper import Keeper, Wanted
from actuator.standby.objects import ObjectDormitory
from actuator.standby.parting import clear, part
from fleet.boards import H100_80GB
from fleet.standby import EngineState
from fleet.workload import WorkloadKey
from simulator.api import DEPLOYMENT
from simulator.standby import PoolObjects
from tests.builders.dormitory import WHOLE, Dormitory

ANT, BEE = WorkloadKey("shop", "ant"), WorkloadKey("shop", "bee")
TURN_S = 5.0


def keeper(place):
    objects = ObjectDormitory(PoolObjects(place.store), [H100_80GB], sleeping_engines()["vllm"], 0.9)
    return Keeper(objects, place.mode)


def turned(place, turning, wish, *, members=frozenset({ANT, BEE}), name="s"):
    list(turning.turn(turning.dormitory.slices("shop"), {name: Wanted(members, wish)}, place.now_s))
    place.wait(TURN_S)


@pytest.fixture
def place():
    """A slice on which the first serves and the second sleeps."""
    made = Dormitory()
    turning = keeper(made)
    turning.dormitory.add("shop", "s", WHOLE)
    for turn in range(24):
        turned(made, turning, ANT if turn > 12 else None)
    assert made.is_ready("ant-s")
    return made


def left(place, *leaving, beside=lambda: None):
    """Let workloads leave; return the seconds that it took."""
    since_s = place.now_s
    while list(part(keeper(place).dormitory, "shop", leaving, place.now_s)):
        beside()
        place.wait(TURN_S)
        assert place.now_s < since_s + 600
    return place.now_s - since_s


def pause(place, name):
    """As `foreslice restore` does first."""
    body = place.store.get(DEPLOYMENT, "shop", name)
    place.store.replace({**body, "metadata": {**body["metadata"], "annotations": {PAUSED: "true"}}})


def standing(place):
    (pool,) = keeper(place).dormitory.slices("shop")
    return pool


def test_who_serves_ends_its_requests_and_goes_and_the_other_sleeps_on(place):
    before = place.pod("bee-s")["metadata"]["uid"]
    assert 120.0 <= left(place, ANT) < 180.0
    pool = standing(place)
    assert (None, ["bee-s"]) == (pool.hold, [each.pod for each in pool.sleepers])
    assert (before, EngineState.ASLEEP) == (
        place.pod("bee-s")["metadata"]["uid"],
        place.mode.state(pool.sleepers[0]),
    )
    assert (0.0, []) == (place.lost(), place.mode.collisions)


def test_who_sleeps_goes_at_once_while_another_serves(place):
    assert left(place, BEE) < 60.0
    assert place.is_ready("ant-s")
    assert ANT == standing(place).hold.workload
    assert 0.0 == place.lost()


def test_a_slice_that_all_have_left_goes_too(place):
    left(place, ANT, BEE)
    assert [] == list(keeper(place).dormitory.slices("shop"))
    assert 0.0 == place.lost()


def test_slices_on_which_nobody_was_are_cleared_and_no_others(place):
    dormitory = keeper(place).dormitory
    dormitory.add("shop", "new", WHOLE)
    clear(dormitory, "shop")
    assert ["s"] == [pool.name for pool in dormitory.slices("shop")]
    left(place, ANT)
    clear(dormitory, "shop")
    assert ["s"] == [pool.name for pool in dormitory.slices("shop")]


class Swift(ObjectDormitory):
    """Objects of a pool in which somebody else drops a slice as soon as nobody has it."""

    def hold(self, pool, hold, barred):
        super().hold(pool, hold, barred)
        if hold is None:
            [free] = self.slices(pool.namespace)
            self.drop(free)


def test_a_slice_that_somebody_else_drops_first_is_gone_all_the_same(place):
    left(place, BEE)
    swift = Swift(PoolObjects(place.store), [H100_80GB], sleeping_engines()["vllm"], 0.9)
    while place.pod("ant-s") is not None:
        list(part(swift, "shop", [ANT], place.now_s))
        place.wait(TURN_S)
    assert [ANT] == list(part(swift, "shop", [ANT], place.now_s))
    assert [] == list(swift.slices("shop"))


def test_a_service_that_turns_the_pool_beside_it_neither_lets_it_in_again_nor_loses_a_request(place):
    """At first it has not heard of the pause, and wants both to sleep there."""
    pause(place, "ant")
    turning = keeper(place)
    while place.pod("ant-s") is not None:
        list(part(turning.dormitory, "shop", [ANT], place.now_s))
        turned(place, turning, None)
    for _ in range(5):
        turned(place, turning, None)
    assert place.pod("ant-s") is None
    left(place, ANT, beside=lambda: turned(place, turning, None, members=frozenset({BEE})))
    assert (None, ["bee-s"]) == (standing(place).hold, [each.pod for each in standing(place).sleepers])
    assert (0.0, []) == (place.lost(), place.mode.collisions)
