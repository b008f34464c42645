"""Readings of a workload's pods: label sets, aliases and pods come together without double counting."""

import math

import numpy as np
import pytest

from fleet.sample import Reason, Unknown, Value
from fleet.signal import Signal
from predictor.readings import SeriesKey, SeriesStore

NAN = math.nan
DONE = "vllm:request_success_total"
WAITING = "vllm:num_requests_waiting"
KV_NEW, KV_OLD = "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"


def store(*series):
    """Build a store from (pod, series, labels, [(t, value), ...])."""
    built = SeriesStore()
    for pod, name, labels, readings in series:
        for t_s, value in readings:
            built.append(SeriesKey(pod, name, tuple(labels.items())), t_s, value)
    return built


def minutes(values, start_s=0):
    return [(start_s + 60 * i, value) for i, value in enumerate(values)]


def buckets(built, signal, n):
    return built.buckets([signal], 0, 60 * n)[signal]


def test_finished_reasons_of_a_pod_are_summed():
    built = store(
        ("a", DONE, {"finished_reason": "stop"}, minutes([0, 5, 10])),
        ("a", DONE, {"finished_reason": "length"}, minutes([0, 1, 3])),
    )
    np.testing.assert_array_equal([6, 7], buckets(built, Signal.COMPLETIONS, 2))
    assert Value(7) == built.now([Signal.COMPLETIONS], 120)["a"][Signal.COMPLETIONS]


def test_a_reason_seen_for_the_first_time_does_not_blind_the_others():
    built = store(
        ("a", DONE, {"finished_reason": "stop"}, minutes([0, 5, 10])),
        ("a", DONE, {"finished_reason": "abort"}, [(120, 1)]),
    )
    np.testing.assert_array_equal([5, 5], buckets(built, Signal.COMPLETIONS, 2))
    assert Value(5) == built.now([Signal.COMPLETIONS], 120)["a"][Signal.COMPLETIONS]


@pytest.mark.parametrize("names", [(KV_NEW,), (KV_OLD,), (KV_OLD, KV_NEW)], ids=["new", "old", "both"])
def test_kv_use_is_read_once_under_whatever_name_it_has(names):
    built = store(*(("a", name, {}, minutes([0.1, 0.3, 0.5])) for name in names))
    np.testing.assert_array_equal([0.3, 0.5], buckets(built, Signal.KV_USE, 2))
    assert Value(0.5) == built.now([Signal.KV_USE], 120)["a"][Signal.KV_USE]


def test_each_pod_is_read_under_its_own_name():
    built = store(
        ("a", KV_NEW, {}, minutes([0.1, 0.2])),
        ("b", KV_OLD, {}, minutes([0.3, 0.4])),
    )
    np.testing.assert_array_equal([0.4], buckets(built, Signal.KV_USE, 1))
    assert [Value(0.2), Value(0.4)] == [pod[Signal.KV_USE] for pod in built.now([Signal.KV_USE], 60).values()]


def test_an_upgrade_that_renames_a_series_leaves_no_hole():
    built = store(
        ("a", KV_OLD, {}, minutes([0.1, 0.2])),
        ("a", KV_NEW, {}, minutes([0.3, 0.4], start_s=120)),
    )
    np.testing.assert_array_equal([0.2, 0.3, 0.4], buckets(built, Signal.KV_USE, 3))
    assert Value(0.2) == built.now([Signal.KV_USE], 60)["a"][Signal.KV_USE]


def test_counts_are_summed_over_pods_and_a_ratio_is_the_fullest_pods():
    built = store(
        ("a", WAITING, {}, minutes([0, 2])),
        ("b", WAITING, {}, minutes([0, 3])),
        ("a", KV_NEW, {}, minutes([0, 0.95])),
        ("b", KV_NEW, {}, minutes([0, 0.4])),
    )
    np.testing.assert_array_equal([5], buckets(built, Signal.WAITING, 1))
    np.testing.assert_array_equal([0.95], buckets(built, Signal.KV_USE, 1))


def test_two_engines_in_one_pod_add_their_queues_and_the_fuller_cache_counts():
    built = store(
        *(("a", WAITING, {"engine": e}, minutes([0, n])) for e, n in (("0", 2), ("1", 3))),
        *(("a", KV_NEW, {"engine": e}, minutes([0, n])) for e, n in (("0", 0.2), ("1", 0.7))),
    )
    now = built.now([Signal.WAITING, Signal.KV_USE], 60)["a"]
    assert {Signal.WAITING: Value(5), Signal.KV_USE: Value(0.7)} == now


LIVES = {
    "a pod that is scraped again after a hole was there all the time: half a fleet is no reading": (
        [minutes([0, 60, 120, 180, 240]), [(0, 0), (60, 60), (180, 180), (240, 240)]],
        [120, NAN, NAN, 120],
    ),
    "a pod that comes adds nothing before its first reading": (
        [minutes([0, 60, 120, 180, 240]), minutes([0, 60, 120], start_s=120)],
        [60, 60, 120, 120],
    ),
    "a pod that goes adds nothing after its last": (
        [minutes([0, 60, 120, 180, 240]), minutes([0, 60, 120])],
        [120, 120, 60, 60],
    ),
    "a replaced pod continues where the other ended": (
        [minutes([0, 60, 120]), minutes([0, 60, 120], start_s=120)],
        [60, 60, 60, 60],
    ),
    "no pod at all is unknown": ([], [NAN, NAN, NAN, NAN]),
    "only pods that were scraped at other times is unknown": (
        [minutes([0, 5], start_s=-600), minutes([0, 5], start_s=600)],
        [NAN, NAN, NAN, NAN],
    ),
}


@pytest.mark.parametrize(("pods", "expected"), LIVES.values(), ids=LIVES)
def test_pods_come_and_go(pods, expected):
    built = store(*((f"pod-{i}", DONE, {}, readings) for i, readings in enumerate(pods)))
    np.testing.assert_array_equal(expected, buckets(built, Signal.COMPLETIONS, 4))


def test_a_pod_that_comes_back_later_changes_no_bucket_that_has_closed():
    """Whether a silent pod is gone or will be back is the future."""
    steady = ("a", DONE, {}, minutes([0, 60, 120, 180]))
    silent = ("b", DONE, {}, minutes([0, 60]))
    back = ("b", DONE, {}, [*minutes([0, 60]), (600, 500)])
    np.testing.assert_array_equal([120, 60, 60], buckets(store(steady, silent), Signal.COMPLETIONS, 3))
    np.testing.assert_array_equal([120, 60, 60], buckets(store(steady, back), Signal.COMPLETIONS, 3))


def test_a_pod_that_is_gone_is_absent_now_and_keeps_its_past():
    built = store(("gone", WAITING, {}, minutes([0, 1])), ("here", WAITING, {}, minutes([0] * 8)))
    assert {"gone", "here"} == built.now([Signal.WAITING], 360).keys()
    assert {"here"} == built.now([Signal.WAITING], 361).keys()
    assert 1 == buckets(built, Signal.WAITING, 1)[0]


def test_a_signal_without_a_series_is_absent():
    built = store(("a", WAITING, {}, minutes([0, 1])))
    assert Unknown(Reason.ABSENT) == built.now([Signal.WAITING, Signal.KV_USE], 60)["a"][Signal.KV_USE]
    assert np.isnan(buckets(built, Signal.KV_USE, 1)).all()


def test_a_pod_with_nothing_known_is_missing():
    built = store(("a", WAITING, {}, [(60, NAN)]))
    assert {} == built.now([Signal.WAITING], 60)


def test_series_that_carry_no_signal_are_dropped():
    built = store(("a", "process_cpu_seconds_total", {}, minutes([1, 2])))
    built.extend(SeriesKey("a", "python_info"), [1.0], [1.0])
    assert {} == built.now(list(Signal), 60)


def test_readings_can_be_added_at_once_and_then_one_by_one():
    built = SeriesStore()
    key = SeriesKey("a", DONE)
    built.extend(key, [0.0, 60.0], [0.0, 5.0])
    built.append(key, 120.0, 12.0)
    np.testing.assert_array_equal([5, 7], buckets(built, Signal.COMPLETIONS, 2))
    assert Value(7) == built.now([Signal.COMPLETIONS], 120)["a"][Signal.COMPLETIONS]


def test_asking_about_an_earlier_time_reads_what_was_known_then():
    built = store(("a", DONE, {}, minutes([0, 5, 50])))
    assert Value(5) == built.now([Signal.COMPLETIONS], 60)["a"][Signal.COMPLETIONS]


def test_what_begins_to_be_exported_is_read_from_then_on():
    """How a pod is read is kept: a series that comes later, or another part of one, counts too."""
    asked = [Signal.COMPLETIONS, Signal.WAITING]
    built = store(("a", DONE, {"finished_reason": "stop"}, minutes([0, 5])))
    assert Unknown(Reason.ABSENT) == built.now(asked, 60)["a"][Signal.WAITING]
    built.append(SeriesKey("a", WAITING), 60.0, 3.0)
    for t_s, value in minutes([0, 2]):
        built.append(SeriesKey("a", DONE, (("finished_reason", "length"),)), t_s, value)
    assert {Signal.COMPLETIONS: Value(7), Signal.WAITING: Value(3)} == built.now(asked, 60)["a"]
