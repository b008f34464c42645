"""What a plan may take over of the tick before it, and what it may not."""

from dataclasses import replace

from fleet.demand import Mix
from foreslice.lookout import Lookout
from foreslice.newest import SAME_MOMENT_S
from tests.builders.deciding import workload
from tests.builders.fleet import fleet, key, running, standing
from tests.builders.standby import outlook
from tests.fakes.metrics import FakeMetrics
from tests.fakes.still_cluster import StillCluster

CHAT, NOW_S = key("chat"), 1_700_000_040


def seen(lookout, told=None):
    return lookout.look(NOW_S, {CHAT: told or outlook()}, SAME_MOMENT_S).readings[CHAT]


def test_a_reading_is_made_anew_once_anything_that_it_rests_on_is_another():
    """What was read is the same all the time; what is ready, or known of the mix, is not."""
    cluster = StillCluster(running(fleet(2), standing("chat", "1 x whole")))
    metrics = FakeMetrics(NOW_S - 600, {CHAT: [0.01]})  # too few end in a minute to tell the mix from
    lookout = Lookout((workload(),), metrics, cluster)
    first = seen(lookout)
    assert first is seen(lookout)
    assert Mix(9.0, 9.0) == seen(lookout, replace(outlook(), mix=Mix(9.0, 9.0))).mix != first.mix
    cluster.fleet = running(fleet(2), standing("chat", "2 x whole"))
    assert "of 2 ready pods" in " ".join(seen(lookout).distrust)
    assert "of 1 ready pods" in " ".join(first.distrust)
