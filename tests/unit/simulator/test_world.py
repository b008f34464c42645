"""A world is handed over ready, keeps its books from then on, and depends on spec and seed alone."""

import numpy as np
import pytest

from fleet.shape import Shape
from fleet.signal import Signal
from predictor.demand import HISTORY_SIGNALS, demand_history
from predictor.ports import BUCKET_S
from simulator.traffic import DAY_S
from simulator.world import LIVE_S, World, WorldSpec
from tests.builders.engines import MIX, tenant

DAYS = 3
DAILY = 20 + 18 * np.sin(np.arange(DAYS * 144) * 2 * np.pi / 144)
FLAT = np.full(DAYS * 144, 3.0)
SPEC = WorldSpec(
    (tenant(DAILY, "daily"), tenant(FLAT, "flat", cv=2.0)), start_day=2, nodes=1, gpus_per_node=4
)
DAILY_KEY, FLAT_KEY = (one.workload.key for one in SPEC.tenants)


@pytest.fixture
def world():
    return World(SPEC, seed=1)


def test_it_starts_at_midnight_with_every_tenant_served(world):
    assert 0 == world.start_s % DAY_S
    assert world.start_s == world.clock.now_s == world.engines.now_s
    for standing in world.cluster.view([DAILY_KEY, FLAT_KEY]).standings:
        assert standing.wanted == standing.ready
        assert world.replicas[standing.key] == standing.ready.replicas


def test_the_fleet_is_what_was_specified(world):
    fleet = world.cluster.view([])
    assert 4 == len(fleet.gpus)
    assert (SPEC.board,) == fleet.boards()


def test_nothing_was_refused_before_the_start_and_it_would_not_count(world):
    assert 0 == world.engines.tally.refused.sum()
    world.advance_to(world.start_s + 600)
    figures = world.summary(world.start_s + 600)
    assert figures.requests_offered < world.engines.tally.offered.sum()
    assert (0, 0, 0) == (figures.pods_started, figures.changes, figures.requests_cut)


def test_static_capacity_costs_its_cards_for_as_long_as_it_stands(world):
    world.advance_to(world.start_s + 1800)
    figures = world.summary(world.start_s + 1800)
    assert pytest.approx(sum(world.replicas.values()) / 2) == figures.gpu_hours == figures.slice_hours
    assert 0.99 < figures.attainment <= 1.0


def test_the_metrics_know_the_days_before(world):
    buckets = world.metrics.samples(HISTORY_SIGNALS, [DAILY_KEY], world.start_s - 2 * DAY_S, world.start_s)
    demand = demand_history(buckets[DAILY_KEY])
    days = demand.requests_per_s[1:].reshape(-1)
    assert np.count_nonzero(np.isnan(days)) == 0
    assert pytest.approx(DAILY[:288].mean(), rel=0.02) == days.mean()


def test_the_past_tells_of_an_engine_at_work_that_is_not_full(world):
    signals = [Signal.RUNNING, Signal.KV_USE, Signal.TTFT_SUM, Signal.TTFT_COUNT]
    values = world.metrics.samples(signals, [DAILY_KEY], world.start_s - DAY_S, world.start_s - 3600)[
        DAILY_KEY
    ].values
    assert 1 < values[Signal.RUNNING].max()
    assert 0 < values[Signal.KV_USE].max() < 0.5
    assert 0.005 < values[Signal.TTFT_SUM].sum() / values[Signal.TTFT_COUNT].sum() < 0.5


def test_engines_are_as_far_as_the_clock_between_two_scrapes(world):
    world.advance_to(world.start_s + 7)
    assert world.start_s + 7 == world.clock.now_s == world.engines.now_s


def test_the_metrics_go_from_the_past_into_the_present_without_a_gap(world):
    world.advance_to(world.start_s + 600)
    seam_s = world.start_s - LIVE_S
    buckets = world.metrics.samples(HISTORY_SIGNALS, [FLAT_KEY], seam_s - 600, world.start_s + 600)
    rates = demand_history(buckets[FLAT_KEY]).requests_per_s[1:]
    truth = world.truth(FLAT_KEY)
    first = (seam_s - 540 - truth.start_s) // BUCKET_S
    offered = truth.work[first : first + len(rates)] * rates.mean() / truth.work.mean()
    assert not np.isnan(rates).any()
    assert np.abs(rates - offered).max() < 0.3


def test_only_live_pods_are_read_at_the_start(world):
    pods = world.metrics.now([Signal.COMPLETIONS], [DAILY_KEY], world.start_s)[DAILY_KEY].pods
    replicas = world.cluster.view([DAILY_KEY]).standing(DAILY_KEY).variants[0].replicas
    assert {replica.pod for replica in replicas} == pods.keys()


def test_truth_is_the_work_of_what_really_arrives(world):
    world.advance_to(world.start_s + 1200)
    truth = world.truth(FLAT_KEY)
    first = (world.start_s - truth.start_s) // BUCKET_S
    reference = world.capacity.reference(SPEC.tenants[1].workload)
    per_s = world.capacity.sustained(SPEC.tenants[1].workload, reference, MIX)
    offered = (
        world.journal.tallies[world.start_s + 1200].since(world.journal.tallies[world.start_s]).offered[1]
    )
    assert pytest.approx(offered / 60 / per_s) == truth.work[first : first + 20].sum()
    assert (DAYS * DAY_S // BUCKET_S, 0) == (len(truth.work), np.count_nonzero(truth.is_censored))


def test_capacity_that_is_taken_away_is_missed(world):
    """Until a workload's last pod is gone everything is served, then everything is refused."""
    world.cluster.scale(FLAT_KEY, "flat", 0, expects=None)
    world.advance_to(world.start_s + 3600)
    figures = world.summary(world.start_s + 3600)
    assert figures.attainment_by_workload[FLAT_KEY] < 0.02
    assert figures.attainment_by_workload[DAILY_KEY] > 0.99
    flat = np.array([world.truth(key).work[2 * 1440 : 2 * 1440 + 60].sum() for key in (DAILY_KEY, FLAT_KEY)])
    assert pytest.approx(flat[1] / flat.sum(), rel=0.02) == figures.unserved_share
    assert (0, 1) == (figures.requests_cut, figures.changes)


def test_a_whole_card_is_traded_for_a_slice_without_missing_a_request(world):
    world.cluster.create_variant(FLAT_KEY, "flat-3g", Shape("h100-80gb", "3g.40gb"))
    world.cluster.scale(FLAT_KEY, "flat-3g", 1, expects=None)
    world.advance_to(world.start_s + 600)
    world.cluster.scale(FLAT_KEY, "flat", 0, expects=None)
    world.advance_to(world.start_s + 1800)
    figures = world.summary(world.start_s + 1800)
    assert (0.0, 0.0) == (figures.unserved_share, figures.requests_cut)
    assert figures.slice_hours < figures.gpu_hours
    assert 1 == figures.pods_started
