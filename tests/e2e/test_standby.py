"""A burst that nobody foresaw, with a standby pool and without, under the service's own loop on a simulated
fleet."""

from dataclasses import replace

import numpy as np
import pytest

from allocator.need import Timing
from capacity.catalogue import MODELS
from fleet.boards import H100_80GB
from fleet.shape import Shape
from fleet.workload import Mode, Tier
from foreslice.clock import BUCKET_LAG_S
from foreslice.compose import make_loop
from foreslice.replay import inside
from foreslice.rules import Rules
from foreslice.standby.made import standby_of
from foreslice.standby.terms import PoolTerms
from predictor.forecasters.hold import Hold
from simulator.sleep import Naps
from simulator.standby import PoolObjects
from simulator.world import World, WorldSpec
from tests.builders.engines import tenant

LASTS_S = 2400
BURST_S = 1200
TERMS = PoolTerms(Shape("h100-80gb"), 4, 3, 500.0, 80.0, 0.98, 1.0, 120.0, frozenset(Tier))


def tenants():
    """Three of 20 requests/s, with bursts to 90 that never meet; on the second day one of the first."""
    found = []
    for nth, name in enumerate(("ant", "bee", "cat")):
        rates = np.full(288, 20.0)
        rates[[at + 7 * nth for at in (30, 60, 90, 120)]] = 90.0
        if name == "ant":
            rates[144 + BURST_S // 600 : 144 + BURST_S // 600 + 2] = 90.0
        found.append(tenant(rates, name))
    return tuple(found)


class Afternoon:
    """What came of it: the world at its end, and when who was asked for and served on the pool."""

    def __init__(self, *, has_pool, naps=None):
        spec = WorldSpec(tenants(), start_day=1, nodes=1, gpus_per_node=8, sleepers=3, naps=naps)
        self.world = World(spec, 1)
        workloads = tuple(replace(each.workload, mode=Mode.FULL) for each in spec.tenants)
        rules = Rules(acting=True)
        if has_pool:
            ports = PoolObjects(self.world.store), lambda _: self.world.sleep, self.world.sleep
            pool = standby_of(TERMS, "vllm", ports, [H100_80GB], workloads, MODELS)
            rules = replace(rules, standby=pool)
        loop = make_loop(workloads, inside(self.world), Timing(), lambda w: Hold(w.key), 86400, rules)
        self.acts = []
        self.ticks = []
        for second in range(0, LASTS_S + 1, 2):
            self.world.advance_to(self.world.start_s + second)
            if second % 10 == 0:
                self.ticks.append(loop.tick())
            if second % 60 == 2 * BUCKET_LAG_S:
                loop.forecast()
                loop.plan()
            self.acts += [(second, done.act.verb, done.act.workload.name) for done in loop.standby()]
        tally = self.world.engines.tally
        self.missed = dict(zip(("ant", "bee", "cat"), tally.offered - tally.inside, strict=True))
        self.lost = float(tally.refused.sum() + tally.cut.sum())

    def first(self, verb):
        """When something was first done in the burst, and for whom."""
        return next((at, who) for at, what, who in self.acts if what == verb and at >= BURST_S)


@pytest.fixture(scope="module")
def without():
    return Afternoon(has_pool=False)


@pytest.fixture(scope="module")
def pooled():
    return Afternoon(has_pool=True)


def test_a_burst_misses_less_than_half_as_often_with_a_pool_and_nobody_else_loses(without, pooled):
    assert pooled.missed["ant"] < 0.5 * without.missed["ant"]
    assert 0.0 == pooled.lost == without.lost
    assert pooled.missed["bee"] + pooled.missed["cat"] < 50


def test_one_is_woken_within_seconds_serves_and_is_given_back_once_its_own_capacity_is_there(pooled):
    held, opened, left = (pooled.first(verb) for verb in ("wake", "open", "sleep"))
    assert {"ant"} == {who for _, who in (held, opened, left)}
    assert opened[0] - held[0] <= 10
    assert [] == pooled.world.sleep.collisions
    assert all(pool.hold is None for pool in pooled.ticks[-1].pool.slices)
    own = pooled.ticks[-1].fleet.standings[0].ready.replicas
    assert own > pooled.ticks[BURST_S // 10].fleet.standings[0].ready.replicas


def test_who_asks_and_who_is_served_is_told(pooled):
    asked = [tick.pool for tick in pooled.ticks if tick.pool.asks]
    assert {"ant"} == {key.name for view in asked for key in view.asks}
    assert any(pool.hold is not None for view in asked for pool in view.slices)


def test_where_no_engine_ever_wakes_the_burst_waits_for_own_capacity_and_nobody_else_does(without, pooled):
    """More is missed than without a pool, where the forecast had insured it, but not what it would be (eight
    times as much) if own capacity were ordered only once every engine had stuck."""
    stuck = Afternoon(has_pool=True, naps=Naps(1, stuck_wake=1.0))
    assert (0.0, []) == (stuck.lost, stuck.world.sleep.collisions)
    assert any(pool.barred for pool in stuck.ticks[-1].pool.slices)
    assert pooled.missed["ant"] < without.missed["ant"] < stuck.missed["ant"] < 4 * without.missed["ant"]
    assert stuck.missed["bee"] + stuck.missed["cat"] < 50


def test_what_sleeping_engines_take_is_read_while_they_sleep(pooled):
    for bed, read in pooled.ticks[-1].pool.beds.values():
        assert read.host.readings > 0
        assert pytest.approx((read.host.gib, read.context.gib), abs=0.01) == (bed.host_gib, bed.context_gib)
