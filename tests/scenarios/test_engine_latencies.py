"""The fluid engine against an iteration-level simulation of the same law: rate, means and tails."""

import random
from collections import deque
from pathlib import Path

import numpy as np
import pytest
import yaml

from capacity.law import Law
from fleet.demand import Mix
from simulator.fluid import flow, pace_of
from simulator.latency import itl_share_under, share_done_by
from tests.builders.iterations import Request, arrivals, serve

TABLE = yaml.safe_load(Path(__file__).with_name("engine-latencies.yaml").read_text(encoding="utf-8"))
MIX = Mix(**TABLE["mix"])
ROOM = TABLE["places"] * (MIX.prompt_tokens + MIX.output_tokens)
LOADS = [pytest.param(row, id=str(row["load"])) for row in TABLE["loads"]]
HOUR_S = 3600


@pytest.fixture(scope="module")
def pace():
    return pace_of([(Law(**TABLE["law"]), ROOM, MIX)])


def steady(pace, load):
    """Return mean residents and wait (s) over an hour of random arrivals."""
    rate = load * TABLE["full_per_s"]
    arriving = np.random.default_rng(1).poisson(rate, (HOUR_S, 1)).astype(float)
    after = flow(np.zeros(1), np.zeros(1), arriving, pace)
    return float(after.running[300:].mean()), float(after.queued[300:].mean()) / rate


def test_a_full_batch_holds_the_simulated_rate(pace):
    assert TABLE["places"] == pace.places[0]
    assert pytest.approx(TABLE["full_per_s"], rel=0.02) == pace.full_per_s[0]


@pytest.mark.parametrize("mix", [Mix(512.0, 256.0), Mix(200.0, 400.0)], ids=str)
def test_where_the_kv_cache_is_full_as_many_leave_as_in_the_simulation(mix):
    """Those in service are the long ones: room counted by a mean request would serve up to half more."""
    law, room = Law(**TABLE["law"]), 16 * (mix.prompt_tokens + mix.output_tokens)
    pace = pace_of([(law, room, mix)])
    end_ms, settled_ms = 400_000, 50_000
    served = serve(law, room, arrivals(mix, 1.2 * pace.full_per_s[0], end_ms, random.Random(1)))
    left = sum(settled_ms < request.emitted[-1] < end_ms for request in served)
    assert pytest.approx(1000 * left / (end_ms - settled_ms), rel=0.1) == pace.full_per_s[0]


@pytest.mark.parametrize("row", LOADS)
def test_mean_itl_is_within_5_percent(pace, row):
    resident, _ = steady(pace, row["load"])
    itl_ms = 1000 * (pace.itl_s[0] + pace.itl_s_per_request[0] * resident)
    assert pytest.approx(row["itl_mean_ms"], rel=0.05) == itl_ms


@pytest.mark.parametrize("row", LOADS)
def test_mean_ttft_is_within_10_percent(pace, row):
    resident, wait_s = steady(pace, row["load"])
    ttft_ms = 1000 * (wait_s + pace.first_token_s[0] + pace.first_token_s_per_request[0] * resident)
    assert pytest.approx(row["ttft_mean_ms"], rel=0.10) == ttft_ms


def attainment(pace, row, percentile):
    """Return the share of requests that the engine gives within a simulated percentile."""
    resident, wait_s = steady(pace, row["load"])
    limit_s = row[percentile] / 1000
    if percentile.startswith("itl"):
        return float(itl_share_under(limit_s, pace.itl_s[0] + pace.itl_s_per_request[0] * resident))
    first_token_s = pace.first_token_s[0] + pace.first_token_s_per_request[0] * resident
    return float(share_done_by(limit_s, wait_s, first_token_s))


PERCENTILES = [("ttft_p95_ms", 0.95), ("ttft_p99_ms", 0.99), ("itl_p95_ms", 0.95)]


@pytest.mark.parametrize(("percentile", "share"), PERCENTILES)
def test_attainment_is_that_of_the_simulation_at_the_load_that_replicas_are_sized_for(
    pace, percentile, share
):
    assert pytest.approx(share, abs=0.01) == attainment(pace, TABLE["loads"][-1], percentile)


@pytest.mark.parametrize("row", LOADS)
@pytest.mark.parametrize(("percentile", "share"), PERCENTILES)
def test_the_engine_is_never_kinder_than_the_simulation(pace, row, percentile, share):
    """Below that load it is harder: its spread is that of the busy engine."""
    assert share - 0.16 < attainment(pace, row, percentile) < share + 0.01


PER_TOKEN = Law(alpha_ms=0.0, beta_ms_per_token=0.1, gamma_ms_per_kv_token=0.0)


class Alone(Request):
    """A request that takes all of the room, whatever its length."""

    room = 1.0


@pytest.mark.parametrize("rho", [0.3, 0.6])
@pytest.mark.parametrize("lengths", ["equal", "exponential"])
def test_an_engine_with_one_place_is_the_queue_that_its_lengths_make_it(rho, lengths):
    """M/D/1 and M/M/1: the iteration-level simulation that the fluid is held to is held to closed forms."""
    chance, now_ms, prompt = random.Random(7), 0.0, 300
    coming = deque()
    for _ in range(60_000):
        now_ms += chance.expovariate(rho / (prompt * PER_TOKEN.beta_ms_per_token))
        length = prompt if lengths == "equal" else max(1, round(chance.expovariate(1 / prompt)))
        coming.append(Alone(now_ms, length, 1))
    served = serve(PER_TOKEN, 1.0, coming)
    service_ms = np.array([request.prompt * PER_TOKEN.beta_ms_per_token for request in served])
    wait_ms = np.array([request.ttft for request in served]) - service_ms
    load = service_ms.sum() / now_ms
    expected_ms = load * service_ms.mean() / (1 - load) * (0.5 if lengths == "equal" else 1.0)
    assert pytest.approx(expected_ms, rel=0.02) == wait_ms.mean()
