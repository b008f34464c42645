"""What Prometheus gets to see of the pool's engines, and of what was done."""

import pytest
from prometheus_client import CollectorRegistry

from actuator.standby.course import Act, Verb
from actuator.standby.keeper import Done
from fleet.ledgers.beds import Bed, Highest, Measured
from fleet.standby import Doing, Hold, PoolSlice, Sleeper
from foreslice.standby.metrics import Wakes, pool_gauges
from foreslice.standby.terms import PoolView
from tests.builders.fleet import key

GIB = 1 << 30
CHAT, TALK, CODE = key("chat"), key("talk"), key("code")


def one(workload, *, is_up=True, is_open=False):
    return Sleeper(workload, f"{workload.name}-s", "", is_up, is_open)


def told(view):
    """Values by metric and the last label."""
    return {
        (family.name.removeprefix("foreslice_standby_"), list(sample.labels.values())[-1]): sample.value
        for family in pool_gauges(view)
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("hold", "first", "states"),
    [
        (None, one(CHAT), (2.0, 0.0, 1.0)),
        (Hold(CHAT, Doing.SERVING, 0.0), one(CHAT), (1.0, 0.0, 2.0)),
        (Hold(CHAT, Doing.SERVING, 0.0), one(CHAT, is_open=True), (1.0, 1.0, 1.0)),
        (Hold(CHAT, Doing.LOADING, 0.0), one(CHAT, is_up=False), (1.0, 0.0, 2.0)),
    ],
)
def test_engines_are_told_by_what_they_do(hold, first, states):
    """The second sleeps; the third is not up, whoever has the slice."""
    pool = PoolSlice("serving", "s", "1", hold, (first, one(TALK), one(CODE, is_up=False)))
    found = told(PoolView((pool,)))
    assert states == tuple(found["engines", state] for state in ("asleep", "awake", "turning"))


def test_who_asks_and_who_is_short_is_told_and_nothing_of_who_is_not():
    found = told(PoolView(asks={CHAT: 3, TALK: 1}, short={CHAT: 2}))
    assert {("asked_slices", "chat"): 3, ("asked_slices", "talk"): 1, ("short_slices", "chat"): 2} == found


def test_what_is_reckoned_with_for_sleepers_is_told_with_its_readings_of_those_in_the_pool_only():
    bed = Bed(70.0, 5.0, 1.5)
    beds = {each: (bed, Measured(Highest(3, 5.0), Highest(2, 1.5))) for each in (CHAT, TALK)}
    found = told(PoolView((PoolSlice("serving", "s", "1", None, (one(CHAT),)),), beds=beds))
    assert {("memory_bytes", "host"): 5.0 * GIB, ("memory_bytes", "device"): 1.5 * GIB} == {
        name: value for name, value in found.items() if name[0] == "memory_bytes"
    }
    assert (3, 2) == (found["memory_readings", "host"], found["memory_readings", "device"])
    [family] = [each for each in pool_gauges(PoolView(beds=beds)) if each.name.endswith("memory_bytes")]
    assert [] == family.samples


def test_a_wake_counts_once_it_serves_and_one_that_stuck_by_its_workload():
    registry = CollectorRegistry()
    wakes = Wakes(registry)
    wakes.observe(
        [
            Done("s", Act(Verb.WAKE, CHAT), held_s=1.0),
            Done("s", Act(Verb.OPEN, CHAT), held_s=4.0),
            Done("s", Act(Verb.OPEN, CHAT), "it has changed", held_s=9.0),
            Done("t", Act(Verb.BAR, TALK), held_s=61.0),
        ]
    )
    named = "foreslice_standby_"
    assert 1.0 == registry.get_sample_value(f"{named}wake_seconds_count")
    assert 4.0 == registry.get_sample_value(f"{named}wake_seconds_sum")
    labels = {"namespace": TALK.namespace, "workload": "talk"}
    assert 1.0 == registry.get_sample_value(f"{named}stuck_total", labels)
