"""Incidents that were reported of other autoscalers, each with the outcome that would have been right."""

from bisect import bisect_left

import numpy as np
import pytest

from allocator.lead import lead_time_s
from allocator.need import Timing
from fleet.demand import WINDOWS_S
from tests.builders.ticking import NOON, Scene

LEADS_S = (
    *(640, 655, 690, 702, 710, 731, 744, 760, 775, 781),
    *(790, 799, 805, 812, 818, 824, 830, 835, 840, 1210),
)
"""Decided to ready of twenty replicas: image 90 s, weights 520 s, warm-up 110 s, sometimes a new node."""

AMNESIA = (0.0, 1.36, 2.72, 4.08, 5.44, 6.8)
"""What a restarted Prometheus shows of a steady 6.8, minute by minute: its window is not yet full."""


def after_restart(seen, then, minutes):
    """A loop that starts with seven replicas and no memory; return the replicas last asked for, by minute."""
    work = np.concatenate([np.full(NOON, np.nan), seen, np.full(600, then)])
    scene = Scene(work, stands="7 x whole", cards=16)
    scene.learn()
    asked = []
    for minute in range(minutes):
        scene.clock.at(NOON + minute)
        scene.loop.forecast()
        scene.loop.plan()
        for second in range(0, 60, 10):
            scene.clock.at(NOON + minute + second / 60)
            scene.loop.tick()
        asked.append(scene.written.get("chat-whole", 7))
    return asked


def test_after_a_restart_under_full_load_nothing_is_given_up():
    """A scaler came back without history, saw no demand, and went from seven replicas to one."""
    assert 7 == min(after_restart(AMNESIA, 6.8, minutes=12))


def test_a_window_that_is_not_full_is_no_evidence_for_ten_minutes():
    """Had demand really gone, ten quiet minutes would have to pass first."""
    asked = after_restart((0.0,), 0.7, minutes=40)

    assert 7 == min(asked[:10])
    assert 7 > asked[-1]


@pytest.mark.parametrize(("quantile", "lead_s"), [(0.95, 840), (0.8, 824), (0.9, 835)])
def test_a_lead_time_longer_than_the_horizon_stretches_the_horizon(quantile, lead_s):
    """A horizon of five minutes beside replicas that take fourteen: that is reacting with extra steps.

    The quantile is the nearest rank among one more than were seen, the next one being one of them, so of
    twenty values .95 is the twentieth; the value that was asked for is that of the nineteenth.
    """
    seen = lead_time_s(LEADS_S, (), quantile, prior_s=300.0)
    window_s = WINDOWS_S[bisect_left(WINDOWS_S, seen + Timing().tick_s)]

    assert lead_s <= seen
    assert window_s >= lead_s + Timing().tick_s
