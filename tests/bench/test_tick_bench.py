"""A tick in which nothing is missing, and a plan, of up to 2,000 workloads on as many cards, in memory.

Demand is scripted and the cluster stands still, so that the loop alone is timed: needs, decisions, terms.
"""

import numpy as np
import pytest

from allocator.need import Timing
from fleet.boards import H100_80GB
from foreslice.notches import Learnt
from foreslice.outlook import Observatory
from foreslice.rules import Rules
from foreslice.tick import Loop
from predictor.forecasters.hold import Hold
from tests.builders.deciding import workload
from tests.builders.fleet import fleet, running, standing
from tests.builders.ticking import CAPACITY, NOON, START_S, Clock, rate_of
from tests.fakes.metrics import FakeMetrics
from tests.fakes.still_cluster import StillCluster

HISTORY_S = 3600


def made(count):
    """A loop that has read an hour."""
    workloads = tuple(workload(f"w{number:04d}") for number in range(count))
    stood = running(fleet(count), *(standing(each.key.name, "1 x whole") for each in workloads))
    pods = {s.key: tuple(r.pod for v in s.variants for r in v.replicas) for s in stood.standings}
    rate = rate_of(0.7, workloads[0])
    metrics = FakeMetrics(START_S, {each.key: np.full(NOON, rate) for each in workloads}, pods)
    observatory = Observatory(
        workloads, metrics, CAPACITY, (H100_80GB,), lambda each: Hold(each.key), HISTORY_S
    )
    clock, cluster = Clock(START_S + 60 * NOON), StillCluster(stood)
    loop = Loop(workloads, Timing(), clock, metrics, observatory, cluster, Rules(acting=True), Learnt())
    loop.forecast()
    return loop


@pytest.mark.parametrize("count", [20, 200, 2000])
def test_a_tick(benchmark, count):
    tick = benchmark.pedantic(made(count).tick, rounds=3, warmup_rounds=1)
    assert not any(decision.is_change for decision in tick.decisions)


@pytest.mark.parametrize("count", [20, 200, 2000])
def test_a_plan(benchmark, count):
    """Each workload tries each cheaper shape in the room that those before it left."""
    benchmark.pedantic(made(count).plan, rounds=3)
