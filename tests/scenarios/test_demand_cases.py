"""Scrapes that autoscalers have stumbled over, from raw counters to what a decision may believe.

Each is a public report in small: what was scraped, and the only right reading of it.
"""

import math

import numpy as np
import pytest

from fleet.sample import Idle, Unknown, Value
from predictor.demand import HISTORY_SIGNALS, demand_history
from predictor.now import NOW_SIGNALS, now_reading
from predictor.ports import InstantSamples, SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from tests.builders.scrapes import LLAMA, Scraped, minutes

NAN = math.nan
NOW_S = 240


def engine(pod, done, *, waiting=0, running=0, kv_use=0.2, kv_name="vllm:kv_cache_usage_perc", until_s=NOW_S):
    """A vLLM pod scraped every minute; numbers are one per scrape, or the same at all."""
    n = until_s // 60 + 1
    finished, queued, served, full = (
        row if isinstance(row, list) else [row] * n for row in (done, waiting, running, kv_use)
    )
    rows = {
        "vllm:request_success_total": finished,
        "vllm:time_to_first_token_seconds_count": finished,
        "vllm:prompt_tokens_total": [100 * x for x in finished],
        "vllm:generation_tokens_total": [10 * x for x in finished],
        "vllm:num_requests_waiting": queued,
        "vllm:num_requests_running": served,
        kv_name: full,
    }
    return [Scraped(pod, name, minutes(row[:n])) for name, row in rows.items()]


def store(scraped):
    built = SeriesStore()
    for series in scraped:
        for t_s, value in series.readings:
            built.append(SeriesKey(series.pod, series.series), t_s, value)
    return built


def read_now(scraped, expected):
    samples = InstantSamples(LLAMA, NOW_S, store(scraped).now(NOW_SIGNALS, NOW_S))
    return now_reading(samples, frozenset(expected), None)


def read_history(scraped):
    return demand_history(SignalBuckets(LLAMA, 0, store(scraped).buckets(HISTORY_SIGNALS, 0, NOW_S)))


BUSY = [0, 60, 120, 180, 240]
QUIET = [7] * 5

CASES = {
    "traffic": (engine("a", BUSY), "a", Value(1), True),
    "no traffic, and every producer says so": (engine("a", QUIET), "a", Idle(), True),
    "nothing was answered": ([], "a", Unknown, False),
    "nothing was answered and nothing runs": ([], "", Unknown, False),
    "a pod died before it was scraped": (engine("a", BUSY), "ab", Value(1), False),
    "the only pod has not been scraped for two minutes": (
        engine("a", QUIET, until_s=120),
        "a",
        Unknown,
        False,
    ),
    "one of two has not been scraped for two minutes": (
        engine("a", BUSY) + engine("b", BUSY, until_s=120),
        "ab",
        Value(1),
        False,
    ),
    "a pod that was removed two minutes ago is no concern": (
        engine("a", BUSY) + engine("b", BUSY, running=9, until_s=120),
        "a",
        Value(1),
        True,
    ),
    "the counter restarted: what it shows since is the traffic": (
        engine("a", [1000, 1600, 2200, 2800, 30]),
        "a",
        Value(0.5),
        True,
    ),
    "the KV gauge is NaN though there is traffic": (engine("a", BUSY, kv_use=NAN), "a", Value(1), False),
    "the KV gauge has its old name": (
        engine("a", BUSY, kv_name="vllm:gpu_cache_usage_perc"),
        "a",
        Value(1),
        True,
    ),
    "the KV gauge was renamed by relabelling, as KServe does": (
        engine("a", BUSY, kv_name="kserve_vllm:kv_cache_usage_perc"),
        "a",
        Value(1),
        True,
    ),
    "the KV gauge has a name that nobody knows": (
        engine("a", BUSY, kv_name="our_vllm:kv_cache_usage_perc"),
        "a",
        Value(1),
        False,
    ),
    "a queue stands": (engine("a", BUSY, waiting=3), "a", Value(1), False),
    "the KV cache is full": (engine("a", BUSY, kv_use=0.97), "a", Value(1), False),
    "nothing finishes but something runs": (engine("a", QUIET, running=2), "a", Value(0), True),
}


@pytest.mark.parametrize(("scraped", "expected", "arrivals", "is_trusted"), CASES.values(), ids=CASES)
def test_what_a_tick_may_believe(scraped, expected, arrivals, is_trusted):
    now = read_now(scraped, expected)
    if arrivals is Unknown:
        assert isinstance(now.arrivals_per_s, Unknown)
    else:
        assert arrivals == now.arrivals_per_s
    assert is_trusted == (not now.distrust)


HISTORIES = {
    "an engine at its limit: the growing queue was demand too, and more may have been lost": (
        engine("a", BUSY, waiting=[0, 60, 120, 180, 240], running=8),
        [NAN, 2, 2, 2],
        [True, True, True, True],
    ),
    "a pod is replaced under constant traffic": (
        engine("a", BUSY[:3], until_s=120)
        + [
            Scraped("b", s.series, [(t + 120, v) for t, v in s.readings])
            for s in engine("b", BUSY[:3], until_s=120)
        ],
        [NAN, 1, 1, 1],
        [False] * 4,
    ),
    "monitoring is out for two minutes": (
        [Scraped("a", s.series, [s.readings[0], *s.readings[3:]]) for s in engine("a", BUSY)],
        [NAN, NAN, NAN, 1],
        [False] * 4,
    ),
    "a release renames the KV gauge": (
        [
            *engine("a", BUSY, kv_name="vllm:gpu_cache_usage_perc", kv_use=[0.95, 0.95, 0.95, NAN, NAN]),
            Scraped("a", "vllm:kv_cache_usage_perc", minutes([0.95, 0.2], start_s=180)),
        ],
        [NAN, 1, 1, 1],
        [True, True, True, False],
    ),
}


@pytest.mark.parametrize(("scraped", "offered", "is_censored"), HISTORIES.values(), ids=HISTORIES)
def test_what_is_learnt_from(scraped, offered, is_censored):
    demand = read_history(scraped)
    np.testing.assert_array_equal(offered, demand.requests_per_s)
    np.testing.assert_array_equal(is_censored, demand.is_censored)
