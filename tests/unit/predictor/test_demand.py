"""Offered demand: what arrived, not what was finished; unknown is never zero, idle never unknown."""

import math

import numpy as np
import pytest

from fleet.demand import Mix
from fleet.sample import Idle, Reason, Unknown, Value
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.demand import MIX_REQUESTS, NOW_SIGNALS, demand_history, now_reading
from predictor.ports import InstantSamples, SignalBuckets

NAN = math.nan
KEY = WorkloadKey("prod", "llama")


def history(completions, waiting=None, running=None, prompt=None, output=None, kv_use=None):
    n = len(completions)
    rows = {
        Signal.COMPLETIONS: completions,
        Signal.WAITING: [0] * n if waiting is None else waiting,
        Signal.RUNNING: [0] * n if running is None else running,
        Signal.PROMPT_TOKENS: np.multiply(completions, 100) if prompt is None else prompt,
        Signal.OUTPUT_TOKENS: np.multiply(completions, 10) if output is None else output,
        Signal.KV_USE: [0.2] * n if kv_use is None else kv_use,
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
    "unknown is marked by its NaN": ({"waiting": [0, NAN, 0, 0], "kv_use": [NAN] * 4}, [False] * 4),
}


@pytest.mark.parametrize(("readings", "expected"), CENSORED.values(), ids=CENSORED)
def test_censored_buckets(readings, expected):
    np.testing.assert_array_equal(expected, history(completions=[60] * 4, **readings).is_censored)


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


def pod(completions=60, waiting=0, running=4, kv_use=0.3, first_tokens=None, tokens=(6000, 600)):
    numbers = {
        Signal.COMPLETIONS: completions,
        Signal.WAITING: waiting,
        Signal.RUNNING: running,
        Signal.KV_USE: kv_use,
        Signal.TTFT_COUNT: completions if first_tokens is None else first_tokens,
        Signal.PROMPT_TOKENS: tokens[0],
        Signal.OUTPUT_TOKENS: tokens[1],
    }
    return {
        signal: number if isinstance(number, Unknown) else Value(number) for signal, number in numbers.items()
    }


def reading(pods, expected=None, last_mix=None):
    expected = frozenset(pods if expected is None else expected)
    return now_reading(InstantSamples(KEY, 1000.0, pods), expected, last_mix)


def test_a_healthy_fleet_is_trusted():
    now = reading({"a": pod(), "b": pod(completions=30)})
    assert (Value(1.5), Value(0), Value(8)) == (now.arrivals_per_s, now.waiting, now.running)
    assert ((), True, 1000.0, KEY) == (now.distrust, now.is_trusted, now.at_s, now.workload)


def test_first_tokens_count_as_arrivals_before_the_requests_end():
    assert Value(2) == reading({"a": pod(completions=0, first_tokens=120)}).arrivals_per_s


def test_completions_stand_in_where_a_pod_does_not_count_first_tokens():
    pods = {"a": pod(completions=60, first_tokens=90), "b": pod(first_tokens=Unknown(Reason.ABSENT))}
    assert Value(2) == reading(pods).arrivals_per_s


def test_zero_of_every_producer_is_idle():
    assert Idle() == reading({"a": pod(completions=0, running=0)}).arrivals_per_s


def test_a_source_that_says_idle_itself_is_believed():
    idle = pod(running=0) | dict.fromkeys((Signal.COMPLETIONS, Signal.TTFT_COUNT), Idle())
    assert Idle() == reading({"a": idle}).arrivals_per_s
    assert Value(1) == reading({"a": idle, "b": pod()}).arrivals_per_s


def test_zero_is_not_idle_while_something_runs():
    assert Value(0) == reading({"a": pod(completions=0, running=3)}).arrivals_per_s


def test_zero_is_not_idle_while_a_producer_is_missing():
    quiet = pod(completions=0, running=0)
    assert Value(0) == reading({"a": quiet}, expected={"a", "b"}).arrivals_per_s


def test_no_pod_at_all_is_unknown_and_never_zero():
    now = reading({}, expected={"a"})
    assert Unknown(Reason.EMPTY) == now.arrivals_per_s == now.waiting == now.running


TOO_FEW = Unknown(Reason.TOO_FEW)
DISTRUST = {
    "pods that are ready and not scraped": (
        {"a": pod()},
        {"a", "c", "b"},
        ("2 of 3 ready pods not scraped: b, c",),
    ),
    "a queue": ({"a": pod(waiting=2), "b": pod(waiting=1)}, None, ("3 requests waiting",)),
    "a full cache": ({"a": pod(kv_use=0.934), "b": pod()}, None, ("KV cache of pod a is 93% full",)),
    "an unknown counter": (
        {"a": pod(completions=TOO_FEW)},
        None,
        ("completions of pod a unknown: too few readings in the window",),
    ),
    "an unknown gauge": (
        {"a": pod(kv_use=Unknown(Reason.NOT_A_NUMBER))},
        None,
        ("kv_use of pod a unknown: NaN without a confirmed count of zero",),
    ),
    "a signal that was not even answered": (
        {"a": {Signal.COMPLETIONS: Value(60), Signal.WAITING: Value(0), Signal.RUNNING: Value(1)}},
        None,
        ("kv_use of pod a unknown: no such series",),
    ),
    "no pod that could say anything": ({}, set(), ("no ready pod that could measure demand",)),
    "several things at once": (
        {"a": pod(waiting=1, kv_use=0.95)},
        {"a", "b"},
        ("1 of 2 ready pods not scraped: b", "1 requests waiting", "KV cache of pod a is 95% full"),
    ),
}


@pytest.mark.parametrize(("pods", "expected_pods", "lines"), DISTRUST.values(), ids=DISTRUST)
def test_reasons_for_distrust(pods, expected_pods, lines):
    now = reading(pods, expected=expected_pods)
    assert (lines, False) == (now.distrust, now.is_trusted)


def test_what_the_scraped_pods_say_is_a_lower_bound_that_may_still_add():
    assert Value(1) == reading({"a": pod()}, expected={"a", "b"}).arrivals_per_s


def test_a_pod_that_drains_still_counts():
    assert Value(2) == reading({"a": pod(), "leaving": pod()}, expected={"a"}).arrivals_per_s


def test_last_words_of_a_pod_that_is_gone_do_not_count():
    gone = pod(completions=TOO_FEW, waiting=9, running=9)
    now = reading({"a": pod(), "gone": gone}, expected={"a"})
    assert (Value(1), Value(0), Value(4), ()) == (now.arrivals_per_s, now.waiting, now.running, now.distrust)


def test_mix_of_the_last_minute():
    assert Mix(100, 10) == reading({"a": pod()}, last_mix=Mix(1, 1)).mix
    assert Mix(6000 / MIX_REQUESTS, 600 / MIX_REQUESTS) == reading({"a": pod(completions=MIX_REQUESTS)}).mix


@pytest.mark.parametrize("few", [pod(completions=MIX_REQUESTS - 1), pod(completions=TOO_FEW)])
def test_last_known_mix_stands_where_too_little_finished(few):
    assert Mix(7, 7) == reading({"a": few}, last_mix=Mix(7, 7)).mix
    assert reading({"a": few}).mix is None


def test_one_unknown_pod_does_not_hide_the_others():
    pods = {"a": pod(waiting=Unknown(Reason.STALE)), "b": pod(waiting=2)}
    assert Value(2) == reading(pods).waiting


def test_the_reason_is_kept_where_nothing_is_known():
    assert Unknown(Reason.STALE) == reading({"a": pod(waiting=Unknown(Reason.STALE))}).waiting


def test_the_signals_asked_for_are_those_that_are_read():
    assert set(NOW_SIGNALS) == set(pod())
