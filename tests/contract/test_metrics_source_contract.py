"""What every source of signals promises (`predictor.ports.MetricsSource`), whatever it reads from.

A source joins by a builder that makes it from scripted series: two workloads of namespace `prod`, told
apart by the label `model_name`.
"""

import csv
import math

import numpy as np
import pytest

from fleet.sample import Unknown, Value
from fleet.signal import Signal
from fleet.workload import Slo, Workload
from predictor.readings import SeriesKey
from predictor.sources.file import FileSource
from simulator.engine import Engines
from simulator.metrics import EmbeddedMetrics
from tests.builders.engines import Laws, Offered
from tests.builders.scrapes import LLAMA, QWEN, Scraped, minutes

NAN = math.nan
DONE = "vllm:request_success_total"
PROMPT = "vllm:prompt_tokens_total"
WAITING = "vllm:num_requests_waiting"
KV_NEW, KV_OLD = "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"


def file_source(tmp_path):
    def build(*scraped):
        labels = sorted({label for series in scraped for label in series.labels})
        path = tmp_path / "metrics.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["timestamp", "series", "pod", "namespace", "value", "model_name", *labels])
            for series in scraped:
                own = [series.labels.get(label, "") for label in labels]
                for t_s, value in series.readings:
                    writer.writerow([t_s, series.series, series.pod, "prod", value, series.model, *own])
        return FileSource(path, {LLAMA: {"model_name": "llama"}, QWEN: {"model_name": "qwen"}})

    return build


def embedded_metrics(tmp_path):
    workloads = [Workload(key, "qwen2.5-7b-bf16", Slo()) for key in (LLAMA, QWEN)]

    def build(*scraped):
        source = EmbeddedMetrics(Engines(workloads, Offered(np.zeros((1, 2))), Laws(), 0))
        for series in scraped:
            key = SeriesKey(series.pod, series.series, tuple(sorted(series.labels.items())))
            times_s, values = np.array(series.readings, dtype=np.float64).T
            source.take({"llama": LLAMA, "qwen": QWEN}[series.model], key, times_s, values)
        return source

    return build


@pytest.fixture(params=[file_source, embedded_metrics], ids=lambda builder: builder.__name__)
def builder(request, tmp_path):
    """What makes the source under the contract from scripted series."""
    return request.param(tmp_path)


@pytest.fixture
def build(builder):
    """A source under the contract, made from scripted series; qwen is idle unless scripted."""

    def build(*scraped):
        quiet = (
            () if any(s.model == "qwen" for s in scraped) else (Scraped("qwen-0", DONE, [(0, 0)], "qwen"),)
        )
        return builder(*scraped, *quiet)

    return build


def buckets(source, signal, n=2, workload=LLAMA):
    answer = source.samples([signal], [workload], 0, 60 * n)[workload]
    assert (workload, 0, {signal}) == (answer.workload, answer.start_s, set(answer.values))
    return answer.values[signal]


def newest(source, signal, at_s, workload=LLAMA):
    answer = source.now([signal], [workload], at_s)[workload]
    assert (workload, at_s) == (answer.workload, answer.at_s)
    return {pod: samples[signal] for pod, samples in answer.pods.items()}


def test_counters_are_told_by_their_increase(build):
    source = build(Scraped("a", DONE, minutes([100, 160, 190])))
    np.testing.assert_array_equal([60, 30], buckets(source, Signal.COMPLETIONS))
    assert {"a": Value(30)} == newest(source, Signal.COMPLETIONS, 120)


def test_gauges_are_told_by_their_last_reading(build):
    source = build(Scraped("a", WAITING, minutes([9, 3, 0])))
    np.testing.assert_array_equal([3, 0], buckets(source, Signal.WAITING))
    assert {"a": Value(0)} == newest(source, Signal.WAITING, 120)


def test_a_restart_loses_nothing_and_invents_nothing(build):
    source = build(Scraped("a", DONE, minutes([1000, 1060, 7])))
    np.testing.assert_array_equal([60, 7], buckets(source, Signal.COMPLETIONS))
    assert {"a": Value(7)} == newest(source, Signal.COMPLETIONS, 120)


def test_label_sets_of_a_pod_are_summed(build):
    source = build(
        Scraped("a", DONE, minutes([0, 10, 20]), labels={"finished_reason": "stop"}),
        Scraped("a", DONE, minutes([0, 1, 2]), labels={"finished_reason": "length"}),
    )
    np.testing.assert_array_equal([11, 11], buckets(source, Signal.COMPLETIONS))
    assert {"a": Value(11)} == newest(source, Signal.COMPLETIONS, 120)


@pytest.mark.parametrize("names", [[KV_NEW], [KV_OLD], [KV_NEW, KV_OLD]], ids=["new", "old", "both"])
def test_a_renamed_series_is_read_once(build, names):
    source = build(*(Scraped("a", name, minutes([0.1, 0.5, 0.7])) for name in names))
    np.testing.assert_array_equal([0.5, 0.7], buckets(source, Signal.KV_USE))
    assert {"a": Value(0.7)} == newest(source, Signal.KV_USE, 120)


def test_buckets_sum_over_pods_and_now_keeps_them_apart(build):
    source = build(Scraped("a", DONE, minutes([0, 10, 20])), Scraped("b", DONE, minutes([5, 6, 8])))
    np.testing.assert_array_equal([11, 12], buckets(source, Signal.COMPLETIONS))
    assert {"a": Value(10), "b": Value(2)} == newest(source, Signal.COMPLETIONS, 120)


def test_a_ratio_is_that_of_the_fullest_pod(build):
    source = build(Scraped("a", KV_NEW, minutes([0, 0.9, 0.2])), Scraped("b", KV_NEW, minutes([0, 0.1, 0.3])))
    np.testing.assert_array_equal([0.9, 0.3], buckets(source, Signal.KV_USE))


def test_workloads_are_kept_apart_and_answered_together(build):
    source = build(Scraped("a", DONE, minutes([0, 10])), Scraped("b", DONE, minutes([0, 3]), "qwen"))
    answer = source.samples([Signal.COMPLETIONS], [LLAMA, QWEN], 0, 60)
    assert {LLAMA: 10, QWEN: 3} == {key: value.values[Signal.COMPLETIONS][0] for key, value in answer.items()}
    now = source.now([Signal.COMPLETIONS], [LLAMA, QWEN], 60)
    assert {LLAMA: {"a"}, QWEN: {"b"}} == {key: set(value.pods) for key, value in now.items()}


def test_a_confirmed_zero_is_a_value(build):
    source = build(Scraped("a", DONE, minutes([7, 7, 7])), Scraped("a", WAITING, minutes([0, 0, 0])))
    for signal in (Signal.COMPLETIONS, Signal.WAITING):
        np.testing.assert_array_equal([0, 0], buckets(source, signal))
        assert {"a": Value(0)} == newest(source, signal, 120)


def test_what_was_not_read_is_unknown_and_never_zero(build):
    source = build(Scraped("a", DONE, minutes([7, 8]), "llama"))
    for signal in (Signal.WAITING, Signal.PROMPT_TOKENS, Signal.KV_USE):
        assert np.isnan(buckets(source, signal)).all()
    assert np.isnan(buckets(source, Signal.COMPLETIONS, n=4)[2:]).all()
    answer = source.now([Signal.COMPLETIONS, Signal.WAITING], [LLAMA], 60)[LLAMA].pods["a"]
    assert isinstance(answer[Signal.WAITING], Unknown)


@pytest.mark.parametrize("missing", [[(0, 0), (180, 30)], [(0, 0), (60, NAN), (120, NAN), (180, 30)]])
def test_a_gap_of_one_pod_makes_the_workload_unknown(build, missing):
    source = build(Scraped("a", DONE, missing), Scraped("b", DONE, minutes([0, 10, 20, 30])))
    assert np.isnan(buckets(source, Signal.COMPLETIONS, n=3)).all()


def test_pods_that_come_and_go_leave_no_hole(build):
    source = build(
        Scraped("old", DONE, minutes([0, 10, 20])), Scraped("new", DONE, minutes([0, 7, 14], start_s=120))
    )
    np.testing.assert_array_equal([10, 10, 7, 7], buckets(source, Signal.COMPLETIONS, n=4))


def test_a_pod_that_is_not_scraped_any_more_is_not_reported_as_it_was(build):
    source = build(Scraped("gone", WAITING, minutes([5, 5])), Scraped("here", WAITING, minutes([0] * 9)))
    later = newest(source, Signal.WAITING, 480)
    assert Value(0) == later.pop("here")
    assert all(isinstance(sample, Unknown) for sample in later.values())


def test_readings_after_the_end_change_no_bucket(build):
    """A bucket that has closed is final: what is learnt from it live is what a restart learns."""
    early, late = minutes([0, 10, 20]), [(150, 500), (180, 1000)]
    first = buckets(build(Scraped("a", DONE, early)), Signal.COMPLETIONS)
    np.testing.assert_array_equal(first, buckets(build(Scraped("a", DONE, early + late)), Signal.COMPLETIONS))


def test_the_past_can_be_asked_for(build):
    source = build(Scraped("a", DONE, minutes([0, 10, 50, 90])))
    assert {"a": Value(10)} == newest(source, Signal.COMPLETIONS, 60)


def test_a_part_of_the_buckets_is_a_part_of_the_answer(build):
    source = build(Scraped("a", DONE, minutes([0, 10, 30, 60])))
    part = source.samples([Signal.COMPLETIONS], [LLAMA], 60, 180)[LLAMA]
    assert 60 == part.start_s
    np.testing.assert_array_equal([20, 30], part.values[Signal.COMPLETIONS])


def test_only_what_was_asked_for_is_answered(build):
    source = build(Scraped("a", DONE, minutes([0, 10])), Scraped("a", PROMPT, minutes([0, 1000])))
    assert {LLAMA} == source.samples([Signal.COMPLETIONS], [LLAMA], 0, 60).keys()
    assert {LLAMA} == source.now([Signal.COMPLETIONS], [LLAMA], 60).keys()
    assert {Signal.PROMPT_TOKENS} == set(source.now([Signal.PROMPT_TOKENS], [LLAMA], 60)[LLAMA].pods["a"])
