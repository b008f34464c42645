"""What sleeping engines are reckoned with: read only while all on a slice sleep, and kept on it."""

from types import SimpleNamespace

import pytest

from actuator.standby.engines import sleeping_engines
from actuator.standby.keeper import Keeper, Wanted
from actuator.standby.objects import ObjectDormitory
from fleet.boards import H100_80GB
from fleet.errors import UnavailableError
from fleet.ledgers.beds import ENOUGH, Bed, Highest, Measured
from fleet.standby import Doing, Hold, PoolSlice, Sleeper
from fleet.workload import WorkloadKey
from foreslice.insight.standby import beds_of, pool_as_json
from foreslice.standby.memory import FORGOTTEN_S, RESTED_S, Memory, by_model, with_readings
from foreslice.standby.pool import Standby
from predictor.ports import PodMemory
from simulator.standby import PoolObjects
from tests.builders.dormitory import NAMES, WHOLE, Dormitory
from tests.builders.standby import terms

GIB = 1 << 30
ANT, BEE = WorkloadKey("shop", "ant"), WorkloadKey("shop", "bee")


def sleeper(key, **changes):
    return Sleeper(key, f"{key.name}-s", "", **({"is_up": True, "is_open": False} | changes))


def pool(*sleepers, version="1", **said):
    return PoolSlice("shop", "s", version, sleepers=sleepers or (sleeper(ANT), sleeper(BEE)), **said)


class Read:
    """A memory source that counts who asked, and a dormitory that takes down what is noted."""

    def __init__(self):
        self.asked, self.noted = [], []
        self.memory_of = Memory(self, SimpleNamespace(note=lambda _, taken: self.noted.append(taken)))

    def memory(self, pods, at_s):
        self.asked.append(at_s)
        return dict.fromkeys(pods, PodMemory(5.0 * GIB, 3.0 * GIB))


@pytest.mark.parametrize(
    "later",
    [
        pool(version="2"),
        pool(hold=Hold(ANT, Doing.SERVING, 1.0)),
        pool(sleeper(ANT), sleeper(BEE, version="2")),
        pool(sleeper(ANT), sleeper(BEE, is_up=False)),
        pool(sleeper(ANT), sleeper(BEE, is_open=True)),
        pool(sleeper(ANT)),
        pool(trouble="scribbled on"),
    ],
)
def test_only_a_slice_on_which_nothing_has_happened_for_long_enough_is_read(later):
    read = Read()
    for at_s in (0.0, RESTED_S - 1):
        read.memory_of.learn([pool()], at_s)
    read.memory_of.learn([later], RESTED_S)
    assert ([], []) == (read.asked, read.noted)
    read.memory_of.learn([pool()], 2 * RESTED_S - 1)
    read.memory_of.learn([pool()], 3 * RESTED_S - 1)
    assert [3 * RESTED_S - 1] == read.asked
    assert [{ANT, BEE}] == [set(taken) for taken in read.noted]


def test_a_device_is_put_down_in_even_parts_so_that_who_slept_there_is_never_reckoned_with_less():
    used = {("shop", "ant-s"): PodMemory(5.0 * GIB, 3.0 * GIB), ("shop", "bee-s"): PodMemory(None, None)}
    found = with_readings(pool(), used, 7.0)
    assert Measured(Highest(1, 5.0), Highest(1, 1.5), 7.0) == found[ANT]
    assert Measured(Highest(), Highest(1, 1.5), 7.0) == found[BEE]
    assert {} == with_readings(pool(), {}, 7.0)


def test_the_highest_stays_and_what_was_not_read_for_a_week_goes():
    known = {ANT: Measured(Highest(4, 6.0), Highest(4, 1.0), 7.0), BEE: Measured(Highest(4, 6.0), at_s=7.0)}
    used = {("shop", "ant-s"): PodMemory(5.0 * GIB, 3.0 * GIB)}
    at_s = 7.0 + FORGOTTEN_S
    found = with_readings(pool(sleeper(ANT), taken=known), used, at_s - 1)
    assert (Measured(Highest(5, 6.0), Highest(5, 3.0), at_s - 1), known[BEE]) == (found[ANT], found[BEE])
    assert {ANT: Measured(Highest(1, 5.0), Highest(1, 3.0), at_s)} == with_readings(
        pool(sleeper(ANT), taken=known), used, at_s
    )


def test_a_slice_is_written_while_it_is_learnt_and_then_only_for_more_or_once_a_day():
    read, known = Read(), {}
    for minute in range(0, 48 * 60, 4):
        before = len(read.noted)
        here = pool(version=str(before), taken=known)
        read.memory_of.learn([here], 60.0 * minute)
        known = read.noted[-1] if read.noted else {}
    assert ENOUGH + 1 == len(read.noted)
    # What is noted is a new version, which is read once more, and then not again within the day.
    assert ENOUGH + 3 == len(read.asked)


def test_what_has_been_read_enough_is_read_once_after_each_use():
    enough = Measured(Highest(ENOUGH, 5.0), Highest(ENOUGH, 1.5), 0.0)
    read, known = Read(), {ANT: enough, BEE: enough}
    for minute in range(60):
        read.memory_of.learn([pool(version="1" if minute < 30 else "2", taken=known)], 60.0 * minute)
    assert [RESTED_S, 30 * 60.0 + RESTED_S] == read.asked
    assert [] == read.noted


def test_a_reading_of_a_device_counts_once_though_several_of_a_model_slept_there():
    def taken(host, context):
        return Measured(Highest(4, host), Highest(4, context), 7.0)

    here = pool(taken={ANT: taken(5.0, 1.5), BEE: taken(6.0, 1.0)})
    there = pool(taken={ANT: taken(4.0, 1.2)})
    found = by_model([here, there], {ANT: "m", BEE: "m"})
    assert {"m": Measured(Highest(12, 6.0), Highest(8, 1.5), 7.0)} == found


class Bedroom(Dormitory):
    """A slice with three sleepers that take more than priors say."""

    def __init__(self):
        super().__init__(process_gib=2.5, context_gib=2.0)
        self.dormitory = ObjectDormitory(PoolObjects(self.store), [H100_80GB], sleeping_engines()["vllm"])
        self.dormitory.add("shop", "s", WHOLE)
        keeper, members = Keeper(self.dormitory, self.mode), {"s": Wanted(frozenset(known(self)))}
        for _ in range(200):
            list(keeper.turn(self.dormitory.slices("shop"), members, self.now_s))
            self.wait(1.0)

    def standby(self):
        """The pool of a process that knows nothing yet."""
        memory = Memory(self.mode, self.dormitory)
        keeper = Keeper(self.dormitory, self.mode)
        return Standby(terms(WHOLE), keeper, self.workloads, lambda _: Bed(70.0, 5.0), memory)

    def passes(self, pool, minutes):
        for _ in range(minutes):
            pool.turn(self.now_s, may_act=False)
            pool.learn(self.now_s)
            self.wait(60.0)
        pool.turn(self.now_s, may_act=False)


def known(place):
    return {workload.key for workload in place.workloads}


def test_what_was_read_takes_the_place_of_priors_and_a_new_process_finds_it():
    place = Bedroom()
    place.passes(place.standby(), 4 * (ENOUGH + 1))
    after = place.standby()
    after.turn(place.now_s, may_act=False)
    bed, read = after.view.beds[ANT]
    weights_gib = place.mode.memory([("shop", "ant-s")], 0.0)["shop", "ant-s"].host / GIB
    assert (pytest.approx(weights_gib, abs=0.01), 2.0) == (bed.host_gib, bed.context_gib)
    # All are engines of one model: of the device each reading is one, of the host one for each.
    assert read.host.readings == 3 * read.context.readings >= 3 * ENOUGH
    rests = f"the most of {read.context.readings} readings"
    told = list(beds_of(after.view, ANT))
    assert f"its engine takes 2.0 GiB of the device while it sleeps ({rests})" in told
    assert 2.0 == pool_as_json(after.view)["memory"]["shop/ant"]["context_gib"]


def test_where_metrics_do_not_answer_priors_stand_and_it_is_said():
    place = Bedroom()
    broken = SimpleNamespace(memory=_unavailable)
    keeper = Keeper(place.dormitory, place.mode)
    pool = Standby(
        terms(WHOLE), keeper, place.workloads, lambda _: Bed(70.0, 5.0), Memory(broken, place.dormitory)
    )
    place.passes(pool, 5)
    assert Bed(70.0, 5.0) == pool.view.beds[ANT][0]
    assert ("standby pool: memory of sleeping engines is not read: it is down",) == pool.view.trouble
    assert "1.2 GiB of the device while it sleeps (a prior)" in "\n".join(beds_of(pool.view, ANT))
    assert len(NAMES) == len(place.dormitory.slices("shop")[0].sleepers)


def _unavailable(pods, at_s):
    raise UnavailableError("it is down")
