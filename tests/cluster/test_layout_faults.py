"""What becomes of a morning whose first change of a layout goes wrong, in the embedded world.

It is here and not among the tests that are run all the time for its length.
"""

import pytest

from actuator.layouts.node import is_held, progress_of
from simulator.api import NODE
from simulator.mig_manager import Fault
from tests.builders.layout_days import Days, is_being_cut

BEFORE_MORNING = 2
"""Step of the day: there is time for a change that fails and for one in its place before the large come."""

ONCE = {
    "failed": [Fault.FAILED],
    "partial": [Fault.PARTIAL],
    "zero allocatable": [Fault.HOLLOW],
}
AGAIN = {
    "pending for ever": [Fault.WEDGED],
    "rebooting for ever": [Fault.REBOOTING],
    "failed": [Fault.FAILED] * 3,
    "partial": [Fault.PARTIAL] * 3,
    "zero allocatable": [Fault.HOLLOW] * 3,
    "stale allocatable": [Fault.STALE],
    "each time another": [Fault.PARTIAL, Fault.HOLLOW, Fault.REBOOTING],
}
THERE_AND_BACK = {"failed": [Fault.FAILED] * 6}


def morning(faults):
    """A morning with these faults, and the node that they met."""
    days, asked = Days(faults, first=BEFORE_MORNING, spare=1), []
    days.given_up = {}

    def note(days):
        for node in days.world.store.list(NODE):
            name, progress = node["metadata"]["name"], progress_of(node)
            asked.extend([name] if is_being_cut(node) else [])
            if progress is not None and progress.broken_at_s is not None and name not in days.given_up:
                days.given_up[name] = days.offer(name), is_held(node)

    days.before = days.nodes()
    days.run(100, note)
    days.met = asked[0]
    found = days.summary()
    assert (0, 0) == (found.unserved_share, found.requests_cut)
    assert found.attainment > 0.999
    assert [] == days.faults
    assert any(days.before[name] != days.offer(name) for name in days.before if name != days.met)
    return days


@pytest.mark.parametrize("faults", AGAIN.values(), ids=AGAIN)
def test_what_cannot_be_made_is_as_it_was_and_others_change_instead(faults):
    days = morning(faults)

    assert {days.met: (days.before[days.met], False)} == days.given_up


@pytest.mark.parametrize("faults", ONCE.values(), ids=ONCE)
def test_what_can_be_made_the_next_time_is_made(faults):
    days = morning(faults)

    assert days.before[days.met] != days.offer(days.met)
    assert [] == [node["metadata"]["name"] for node in days.world.store.list(NODE) if is_held(node)]


@pytest.mark.parametrize("faults", THERE_AND_BACK.values(), ids=THERE_AND_BACK)
def test_what_cannot_be_taken_back_is_kept_free_and_said(faults):
    days = morning(faults)
    said = {c for tick in days.ticks for c in tick.conditions if days.met in c}

    assert is_held(days.world.store.get(NODE, None, days.met))
    assert any("a person is needed" in line for line in said)
