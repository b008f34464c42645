"""What is done next on a slice, case by case: nobody is woken unless all others sleep for certain."""

import pytest

from actuator.standby.course import Rhythm, Seen, next_act
from fleet.standby import Doing, EngineState, Hold, PoolSlice, Sleeper
from fleet.workload import WorkloadKey

ANT, BEE = WorkloadKey("shop", "ant"), WorkloadKey("shop", "bee")
ASLEEP, AWAKE, SILENT = EngineState.ASLEEP, EngineState.AWAKE, EngineState.SILENT
NOW_S = 10_000.0


def one(workload, *, is_up=True, is_open=False, is_leaving=False, turned_s=0.0):
    return Sleeper(workload, f"{workload.name}-s", "", is_up, is_open, is_leaving, turned_s)


def act(hold=None, sleepers=None, states=(ASLEEP, ASLEEP), wish=None, barred=(), idle=(), members=(ANT, BEE)):
    """Return the next act as text; `hold` is (workload, doing, seconds ago)."""
    sleepers = (one(ANT), one(BEE)) if sleepers is None else sleepers
    held = hold and Hold(hold[0], Doing(hold[1]), NOW_S - hold[2])
    pool = PoolSlice("shop", "s", "1", held, tuple(sleepers), dict.fromkeys(barred, NOW_S + 60))
    said = {each.workload: state for each, state in zip(sleepers, states, strict=False) if each.is_up}
    found = next_act(pool, Seen(said, frozenset(idle), wish, frozenset(members), NOW_S), Rhythm())
    return found and " ".join(filter(None, (found.verb, found.workload.name, found.doing)))


@pytest.mark.parametrize(
    ("expected", "case"),
    [
        (None, {}),
        ("hold ant serving", {"wish": ANT}),
        (None, {"wish": ANT, "barred": [ANT]}),
        ("hold bee leaving", {"wish": ANT, "states": (ASLEEP, AWAKE)}),
        ("hold bee leaving", {"wish": ANT, "states": (ASLEEP, SILENT)}),
        ("hold bee loading", {"wish": ANT, "sleepers": (one(ANT), one(BEE, is_up=False))}),
        (None, {"wish": ANT, "sleepers": (one(ANT), one(BEE, is_leaving=True))}),
        ("hold bee loading", {"sleepers": (one(ANT),)}),
        (None, {"sleepers": (one(ANT),), "barred": [BEE]}),
        ("hold bee leaving", {"members": (ANT,)}),
        ("close ant", {"sleepers": (one(ANT, is_open=True), one(BEE))}),
    ],
)
def test_a_slice_that_nobody_holds(expected, case):
    assert expected == act(**case)


@pytest.mark.parametrize(
    ("expected", "case"),
    [
        ("board ant", {"sleepers": (one(BEE),)}),
        ("release ant", {"sleepers": (one(BEE),), "barred": [ANT]}),
        ("release ant", {"sleepers": (one(BEE),), "members": (BEE,)}),
        (None, {"sleepers": (one(ANT, is_up=False), one(BEE))}),
        ("sleep ant", {"states": (AWAKE, ASLEEP)}),
        (None, {"states": (SILENT, ASLEEP)}),
        ("release ant", {}),
    ],
)
def test_one_that_loads(expected, case):
    assert expected == act(hold=(ANT, "loading", 30.0), **case)


def test_one_that_loads_for_ever_is_barred_and_then_ends():
    case = {"hold": (ANT, "loading", 901.0), "sleepers": (one(ANT, is_up=False), one(BEE))}
    assert ["bar ant", "remove ant"] == [act(**case), act(**case, barred=[ANT])]


OPEN = (one(ANT, is_open=True), one(BEE))


@pytest.mark.parametrize(
    ("expected", "ago_s", "case"),
    [
        ("wake ant", 1.0, {"wish": ANT}),
        (None, 1.0, {"wish": ANT, "states": (SILENT, ASLEEP)}),
        ("open ant", 1.0, {"wish": ANT, "states": (AWAKE, ASLEEP)}),
        ("hold ant leaving", 1.0, {"wish": ANT, "states": (AWAKE, SILENT)}),
        ("hold ant leaving", 1.0, {"wish": ANT, "states": (ASLEEP, AWAKE)}),
        ("bar ant", 61.0, {"wish": ANT, "states": (SILENT, ASLEEP)}),
        ("hold ant leaving", 61.0, {"wish": ANT, "states": (SILENT, ASLEEP), "barred": [ANT]}),
        ("hold ant leaving", 1.0, {"states": (SILENT, ASLEEP)}),
        (None, 100.0, {"wish": ANT, "states": (AWAKE, ASLEEP), "sleepers": OPEN}),
        (None, 30.0, {"states": (AWAKE, ASLEEP), "sleepers": OPEN}),
        ("hold ant leaving", 60.0, {"states": (AWAKE, ASLEEP), "sleepers": OPEN}),
        ("hold ant leaving", 60.0, {"wish": BEE, "states": (AWAKE, ASLEEP), "sleepers": OPEN}),
        ("close ant", 60.0, {"wish": ANT, "sleepers": OPEN}),
        ("hold ant loading", 60.0, {"wish": ANT, "sleepers": (one(ANT, is_up=False), one(BEE))}),
        ("release ant", 60.0, {"wish": ANT, "sleepers": (one(BEE),)}),
    ],
)
def test_one_that_serves_or_is_to(expected, ago_s, case):
    assert expected == act(hold=(ANT, "serving", ago_s), **case)


CLOSED = (one(ANT, turned_s=NOW_S - 15.0), one(BEE))
JUST = (one(ANT, turned_s=NOW_S - 1.0), one(BEE))


@pytest.mark.parametrize(
    ("expected", "ago_s", "case"),
    [
        ("close ant", 1.0, {"states": (AWAKE, ASLEEP), "sleepers": OPEN}),
        (None, 20.0, {"states": (AWAKE, ASLEEP), "sleepers": JUST, "idle": [ANT]}),
        (None, 20.0, {"states": (AWAKE, ASLEEP), "sleepers": CLOSED}),
        ("sleep ant", 20.0, {"states": (AWAKE, ASLEEP), "sleepers": CLOSED, "idle": [ANT]}),
        ("sleep ant", 130.0, {"states": (AWAKE, ASLEEP)}),
        (None, 5.0, {}),
        ("release ant", 11.0, {}),
        ("remove ant", 11.0, {"members": (BEE,)}),
        ("bar ant", 181.0, {"states": (SILENT, ASLEEP)}),
        ("remove ant", 181.0, {"states": (SILENT, ASLEEP), "barred": [ANT]}),
        ("release ant", 5.0, {"sleepers": (one(BEE),)}),
    ],
)
def test_one_that_is_put_back_to_sleep(expected, ago_s, case):
    assert expected == act(hold=(ANT, "leaving", ago_s), **case)


def test_nothing_is_done_while_the_pod_of_the_one_who_holds_it_ends():
    leaving = (one(ANT, is_leaving=True), one(BEE))
    assert [None] * 3 == [act(hold=(ANT, doing, 1e4), sleepers=leaving, wish=ANT) for doing in Doing]
