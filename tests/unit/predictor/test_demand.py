"""Offered demand: what arrived, not what was finished; unknown is never zero, idle never unknown."""

import math

import numpy as np
import pytest

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.demand import MIX_REQUESTS, demand_history
from predictor.ports import SignalBuckets

NAN = math.nan
KEY = WorkloadKey("prod", "llama")


def history(completions, waiting=None, running=None, prompt=None, output=None, kv_use=None, **more):
    n = len(completions)
    rows = {
        Signal.COMPLETIONS: completions,
        Signal.WAITING: [0] * n if waiting is None else waiting,
        Signal.RUNNING: [0] * n if running is None else running,
        Signal.PROMPT_TOKENS: np.multiply(completions, 100) if prompt is None else prompt,
        Signal.OUTPUT_TOKENS: np.multiply(completions, 10) if output is None else output,
        Signal.KV_USE: [0.2] * n if kv_use is None else kv_use,
        **{Signal(name): row for name, row in more.items()},
    }
    return demand_history(
        SignalBuckets(KEY, 600, {signal: np.array(row, dtype=float) for signal, row in rows.items()})
    )


OFFERED = {
    "steady: arrivals are completions": ({"completions": [60, 60, 120]}, [NAN, 1, 2]),
    "a queue that grows was offered too": (
        {"completions": [60, 60, 60], "waiting": [0, 30, 90]},
        [NAN, 1.5, 2],
    ),
    "what starts and does not end yet was offered": (
        {"completions": [0, 0, 60], "running": [0, 60, 0]},
        [NAN, 1, 0],
    ),
    "a queue that drains faster than it finishes is no negative demand": (
        {"completions": [60, 60], "waiting": [200, 0]},
        [NAN, 0],
    ),
    "all producers say nothing came: idle": ({"completions": [0, 0, 0]}, [NAN, 0, 0]),
    "completions unknown: demand unknown": ({"completions": [60, NAN, 60]}, [NAN, NAN, 1]),
    "a queue unknown at either end: demand unknown": (
        {"completions": [60, 60, 60, 60], "waiting": [0, NAN, 0, 0]},
        [NAN, NAN, NAN, 1],
    ),
    "an engine without queue gauges is taken at its completions": (
        {"completions": [60, 120], "waiting": [NAN, NAN], "running": [NAN, NAN]},
        [1, 2],
    ),
    "an engine that shows its queue and not what it serves": (
        {"completions": [60, 60], "waiting": [0, 60], "running": [NAN, NAN]},
        [NAN, 2],
    ),
    "what failed was offered": ({"completions": [60, 60], "failures": [NAN, 6]}, [NAN, 1.1]),
    "what was turned away was offered": ({"completions": [60, 60], "refusals": [0, 60]}, [NAN, 2]),
    "no failure is known where nothing is": ({"completions": [60, NAN], "failures": [0, 0]}, [NAN, NAN]),
    "an engine that counts what comes needs no look at what is in it": (
        {"completions": [0, 0], "running": [0, 60], "arrivals": [60, 120]},
        [1, 2],
    ),
    "a router knows before the engines": (
        {"completions": [0, 0], "arrivals": [30, 30], "router_arrivals": [60, 120]},
        [1, 2],
    ),
    "while the router is not scraped its engines say": (
        {"completions": [60, 60, 60], "router_arrivals": [66, NAN, 66]},
        [1.1, 1, 1.1],
    ),
}


@pytest.mark.parametrize(("readings", "expected"), OFFERED.values(), ids=OFFERED)
def test_offered_requests(readings, expected):
    demand = history(**readings)
    np.testing.assert_array_equal(expected, demand.requests_per_s)
    assert (KEY, 600, 600 + 60 * len(expected)) == (demand.workload, demand.start_s, demand.end_s)


CENSORED = {
    "a queue that stood through the bucket": ({"waiting": [0, 5, 5, 0]}, [False, False, True, False]),
    "a queue in the first bucket": ({"waiting": [5, 0, 0, 0]}, [True, False, False, False]),
    "a full KV cache": ({"kv_use": [0.5, 0.91, 0.9, 0.2]}, [False, True, False, False]),
    "requests were turned away": ({"refusals": [0, 1, 0, NAN]}, [False, True, False, False]),
    "the router turned requests away": ({"router_refusals": [0, 0, 9, 0]}, [False, False, True, False]),
    "a queue that stood in front of the engines": (
        {"router_waiting": [0, 5, 5, 0]},
        [False, False, True, False],
    ),
    "unknown is marked by its NaN": ({"waiting": [0, NAN, 0, 0], "kv_use": [NAN] * 4}, [False] * 4),
}


@pytest.mark.parametrize(("readings", "expected"), CENSORED.values(), ids=CENSORED)
def test_censored_buckets(readings, expected):
    np.testing.assert_array_equal(expected, history(completions=[60] * 4, **readings).is_censored)


RETRIES = {
    "as many fail as always, as callers cancel by habit": ([50] * 4, [False] * 4),
    "far more than usual fail, as in a retry storm": ([0, 5, 20, 50], [False, False, True, True]),
    "it is over as soon as they get through again": ([0, 50, 0, 0], [False, True, False, False]),
    "a few requests tell no share": ([0, 0, 0.29, 0], [False] * 4),
}


@pytest.mark.parametrize(("failed", "expected"), RETRIES.values(), ids=RETRIES)
def test_what_is_asked_again_and_again_is_not_learnt(failed, expected):
    """Of 100 attempts a minute; an unknown bucket is neither learnt from nor evidence for a removal."""
    attempts = [1 if 0 < share < 1 else 100 for share in failed]
    demand = history(np.subtract(attempts, failed), failures=failed, arrivals=attempts)
    np.testing.assert_array_equal(expected, np.isnan(demand.requests_per_s))


def test_a_storm_of_two_hours_does_not_become_the_usual():
    failed = np.array([0.0] * 60 + [50.0] * 120)
    demand = history(100 - failed, failures=failed)
    np.testing.assert_array_equal(failed[1:] > 0, np.isnan(demand.requests_per_s[1:]))


def test_mix_is_a_ratio_of_sums_over_enough_requests():
    demand = history([20, 20, 60], prompt=[2000, 6000, 60], output=[200, 200, 600])
    np.testing.assert_array_equal([NAN, 8000 / 40, 1], demand.prompt_tokens)
    np.testing.assert_array_equal([NAN, 10, 10], demand.output_tokens)


def test_mix_is_carried_over_idle_and_unknown_buckets():
    demand = history([MIX_REQUESTS, 0, NAN], prompt=[3000, 0, 5], output=[300, 0, 5])
    np.testing.assert_array_equal([100, 100, 100], demand.prompt_tokens)


def test_mix_needs_all_three_counts_of_a_bucket():
    demand = history([MIX_REQUESTS, MIX_REQUESTS], prompt=[3000, 3000], output=[300, NAN])
    np.testing.assert_array_equal([100, 100], demand.prompt_tokens)
    np.testing.assert_array_equal([10, 10], demand.output_tokens)


def test_no_buckets_no_demand():
    assert 0 == len(demand_history(SignalBuckets(KEY, 0, {})).requests_per_s)
