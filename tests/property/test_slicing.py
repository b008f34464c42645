"""Whatever goes wrong with any write on the way of a node to time slices, and whoever goes on with it.

Complete: every write that is made without trouble is the one that goes wrong once.
"""

from itertools import count

import pytest

from actuator.slicing.hands import turn
from fleet.errors import ForesliceError
from tests.builders.stage import SPRINGS, Trap
from tests.fakes.cluster import Killed
from tests.fakes.slicing import PEOPLES, SlicingSite
from tests.fakes.turned import NAME, TURN_S

WRITES = ("mark", "write_configs", "evict")
TURNS = 60


def played(site, door):
    """Turn a node until it is quiet; whoever turns knows nothing of the last one."""
    for _ in range(TURNS):
        try:
            step = turn(door, NAME, 4, site.clock.now_s)
        except (ForesliceError, Killed):
            step = None
        site.clock.run_until(site.clock.now_s + TURN_S)
        if step is not None and step.act == "nothing":
            return
    raise AssertionError("it does not end")


def end(site):
    assert PEOPLES.items() <= site.configs()[0].items(), "what people wrote stays"
    return site.offer, site.is_held, site.progress, site.pods


@pytest.mark.parametrize("spring", SPRINGS)
def test_the_end_is_the_same_and_nothing_is_left_held(spring):
    for number in count(1):
        site = SlicingSite("whole")
        site.add_pod("alone", memory="0.9")
        trap = Trap(site, number, SPRINGS[spring], WRITES)
        played(site, trap)
        assert (number, ({"gpu": 8}, False, None, [])) == (number, end(site))
        if not trap.is_sprung:
            break
    assert number > len(WRITES)
