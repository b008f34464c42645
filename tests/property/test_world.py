"""What holds in every simulated world: nothing is lost, nothing is free, and chance is one seed."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from capacity.estimate import CapacityModel
from capacity.law import Law
from fleet.boards import H100_80GB
from fleet.shape import Shape
from simulator.api import CLAIM, DEPLOYMENT, POD
from simulator.fluid import flow, pace_of
from simulator.series import SERIES, readings
from simulator.tenants import shipped_tenants
from simulator.traces import TRACE_STEP_S
from simulator.traffic import mean_per_s
from simulator.world import World, WorldSpec
from tests.builders.engines import LAW, MIX, WHOLE, Laws, constant, engines, tenant, workload

SECONDS = 200
FULL_PER_S = float(engines(constant(1, 1)).pace.full_per_s[0])

arrivals = st.lists(
    st.sampled_from([0.0, 1.0, 20.0, FULL_PER_S, 4 * FULL_PER_S]), min_size=1, max_size=SECONDS // 10
).map(lambda levels: np.repeat(levels, 10).round()[:, np.newaxis])
"""Requests by second in levels of ten seconds, from silence to four times what a pod serves."""

deeds = st.lists(
    st.tuples(st.sampled_from(["start", "drain", "stop", "wait"]), st.integers(1, 40)), max_size=12
)


def play(made, script):
    """Do what a script says to pods `a-0`, `a-1`, ...; return the seconds at which pods came or went."""
    now_s, born = 0, 1
    changes = []
    for deed, amount in script:
        if deed == "start":
            made.start(f"a-{born}", workload().key, WHOLE)
            made.set_ready(f"a-{born}", is_ready=True)
            born += 1
        elif made.names and deed == "drain":
            made.drain_s(made.names[amount % len(made.names)])
        elif made.names and deed == "stop":
            made.stop(made.names[amount % len(made.names)])
        else:
            now_s += amount
            made.advance(now_s)
            continue
        changes.append(now_s)
    made.advance(SECONDS + 100)
    return changes


@given(by_second=arrivals, script=deeds)
def test_every_request_is_served_waits_is_refused_or_was_cut(by_second, script):
    made = engines(by_second)
    play(made, script)
    tally = made.tally
    assert by_second.sum() == tally.offered[0]
    kept = tally.completed + tally.refused + tally.cut + made.in_service()
    assert tally.offered[0] == pytest.approx(kept[0], rel=1e-9, abs=1e-6)
    assert -1e-9 <= tally.inside[0] <= tally.offered[0] - tally.refused[0] + 1e-6
    terms = [tally.within_ttft[0], tally.within_itl[0], tally.within_e2e[0]]
    assert tally.inside[0] - 1e-6 <= min(terms) <= max(terms) <= tally.offered[0] - tally.refused[0] + 1e-6


@given(by_second=arrivals)
def test_counters_and_buckets_never_fall(by_second):
    made = engines(by_second, pods=2)
    counters = [n for n, series in enumerate(SERIES) if series.type != "gauge"]
    before = readings(made.counts, made.pace)
    under = made.counts.ttft_under
    for until_s in range(15, SECONDS, 15):
        made.advance(until_s)
        after = readings(made.counts, made.pace)
        assert np.all(after[:, counters] >= before[:, counters])
        assert np.all(made.counts.ttft_under >= under)
        assert np.all(np.diff(made.counts.ttft_under, axis=1) >= 0)
        before, under = after, made.counts.ttft_under.copy()


@given(by_second=arrivals, pods=st.integers(1, 4), more=st.integers(1, 3))
def test_more_pods_never_lower_attainment(by_second, pods, more):
    few, many = engines(by_second, pods=pods), engines(by_second, pods=pods + more)
    for made in (few, many):
        made.advance(SECONDS)
    assert many.tally.inside[0] >= few.tally.inside[0] - 1e-6
    assert many.tally.refused[0] <= few.tally.refused[0] + 1e-6


@given(by_second=arrivals, slower=st.floats(1.0, 4.0))
def test_a_slower_engine_never_raises_attainment(by_second, slower):
    fast, slow = engines(by_second), engines(by_second, laws=Laws(LAW.slower(slower)))
    for made in (fast, slow):
        made.advance(SECONDS)
    assert slow.tally.inside[0] <= fast.tally.inside[0] + 1e-6


@given(
    alpha_ms=st.floats(2.0, 60.0),
    beta=st.floats(0.005, 0.1),
    load=st.floats(0.05, 0.7),
    seed=st.integers(0, 99),
)
def test_little_s_law_holds_in_a_steady_state(alpha_ms, beta, load, seed):
    """Requests present, over arrivals a second, are the residence that the law gives those who arrive."""
    law = Law(alpha_ms, beta, 2e-5)
    pace = pace_of([(law, 400_000.0, MIX)])
    arriving = np.random.default_rng(seed).poisson(load * pace.full_per_s, (1500, 1)).astype(float)
    present = flow(np.zeros(1), np.zeros(1), arriving, pace).running
    met, present = arriving[100:, 0], present[100:, 0]
    company = 1 + present * (1 - 1 / pace.places[0])
    residence_s = law.residence_ms(MIX.prompt_tokens, MIX.output_tokens, company) / 1000
    assert present.mean() == pytest.approx(met.mean() * np.average(residence_s, weights=met), rel=0.02)


@given(
    rates=st.lists(st.floats(0, 1e4, allow_subnormal=False), min_size=2, max_size=40),
    step_s=st.sampled_from([1, 60]),
)
def test_ten_minutes_keep_their_total(rates, step_s):
    padded = [*rates, *[0.0] * (144 - len(rates))]
    means = mean_per_s(tenant(padded), 0, step_s).reshape(144, -1)
    assert np.allclose(np.array(padded) * TRACE_STEP_S, means.sum(axis=1) * step_s, rtol=1e-9, atol=1e-6)
    assert means.min() >= -1e-9


SMALL = WorldSpec(
    (tenant(np.full(288, 30.0), "a"), tenant(np.full(288, 3.0), "b", cv=2.0)),
    start_day=1,
    nodes=1,
    gpus_per_node=4,
)
QUARTER_S = 900

scalings = st.lists(
    st.tuples(st.sampled_from(["a", "b", "a-3g", "b-1g"]), st.integers(0, 3)), min_size=1, max_size=6
)


@settings(max_examples=8)
@given(script=scalings)
def test_whatever_is_scaled_nothing_is_cut_and_cards_are_paid_for_while_they_are_held(script):
    """GPU-hours of the journal against cards counted anew from the cluster every ten seconds."""
    world = World(SMALL, seed=1)
    keys = {one.workload.key.name: one.workload.key for one in SMALL.tenants}
    for name, shape in (("a-3g", "3g.40gb"), ("b-1g", "1g.20gb")):
        world.cluster.create_variant(keys[name[0]], name, Shape("h100-80gb", shape))
    card_s, at_s = 0, world.start_s
    for name, replicas in script:
        world.cluster.scale(keys[name[0]], name, replicas, expects=None)
        for _ in range(QUARTER_S // 10):
            card_s += 10 * world.cluster.view([]).gpus_in_use
            at_s += 10
            world.advance_to(at_s)
    figures = world.summary(at_s)
    assert figures.requests_cut == 0
    assert figures.gpu_hours * 3600 == pytest.approx(card_s, abs=10 * 2 * 3 * len(script))
    assert figures.slice_hours <= figures.gpu_hours + 1e-9
    assert figures.changes <= len(script)


@pytest.fixture(scope="module")
def tenants():
    return shipped_tenants(CapacityModel([H100_80GB]), seed=1)


def lived(tenants, seed):
    """Return a hash of everything that a world has become after an hour and a half with some changes."""
    world = World(WorldSpec(tenants, start_day=10), seed)
    key = tenants[0].workload.key
    world.advance_to(world.start_s + 1800)
    world.cluster.create_variant(key, "steady-3g", Shape("h100-80gb", "3g.40gb"))
    world.cluster.scale(key, "steady-3g", 2, expects=None)
    world.advance_to(world.start_s + 2400)
    world.cluster.scale(key, "steady", 0, expects=None)
    world.advance_to(world.start_s + 5400)
    objects = [world.store.list(kind) for kind in (POD, CLAIM, DEPLOYMENT)]
    journal = [
        *world.journal.holdings,
        *world.journal.servings,
        *world.journal.starts,
        *world.journal.scalings,
    ]
    numbers = [readings(world.engines.counts, world.engines.pace), world.engines.tally.inside]
    told = json.dumps(objects) + repr(journal) + repr(world.summary(world.start_s + 5400))
    return hashlib.sha256(told.encode() + b"".join(array.tobytes() for array in numbers)).hexdigest()


def test_the_same_seed_gives_the_same_world_to_the_last_bit_and_another_gives_another(tenants):
    first = lived(tenants, seed=1)
    assert first == lived(tenants, seed=1)
    assert first != lived(tenants, seed=2)


def test_policies_see_the_very_same_requests(tenants):
    """Whatever is done to the cluster, what is offered in each minute stays the same."""
    idle, busy = (World(WorldSpec(tenants, start_day=10), 1) for _ in range(2))
    for one in tenants:
        busy.cluster.scale(one.workload.key, one.workload.key.name, 0, expects=None)
    for world in (idle, busy):
        world.advance_to(world.start_s + 1800)
    for at_s, tally in idle.journal.tallies.items():
        assert tally.offered.tolist() == busy.journal.tallies[at_s].offered.tolist()
    assert busy.engines.tally.refused.sum() > 0 == idle.engines.tally.refused.sum()
