"""The text that a pod exposes is what Prometheus' own parser reads, and says what a scrape reads."""

import math

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from predictor.engines import shipped
from predictor.now import NOW_SIGNALS
from simulator.counts import ITL_EDGES_S, TTFT_EDGES_S
from simulator.series import ITL, SERIES, TTFT, exposition, readings
from tests.builders.engines import constant, engines

COMMON = {"engine": "0", "model_name": "served"}


@pytest.fixture
def busy():
    made = engines(constant(7, 300), pods=2)
    made.advance(300)
    return made


def families(made, pod=0):
    return {
        f.name: f for f in text_string_to_metric_families(exposition(made.counts, made.pace, pod, "served"))
    }


def samples(made, pod=0):
    return {
        (sample.name, tuple(sorted(sample.labels.items() - COMMON.items()))): sample
        for family in families(made, pod).values()
        for sample in family.samples
    }


def test_text_and_structured_readings_say_the_same(busy):
    text = samples(busy, 1)
    structured = readings(busy.counts, busy.pace)[1]
    assert len(SERIES) > 8
    for series, value in zip(SERIES, structured, strict=True):
        assert value == text[series.name, series.labels].value


def test_nothing_is_in_the_text_that_is_not_scraped_but_the_buckets(busy):
    scraped = {(series.name, series.labels) for series in SERIES}
    assert {f"{TTFT}_bucket", f"{ITL}_bucket"} == {name for name, labels in samples(busy).keys() - scraped}


def test_every_series_carries_the_labels_of_its_engine(busy):
    for sample in samples(busy).values():
        assert COMMON.items() <= sample.labels.items()


def test_types_are_those_of_vllm(busy):
    assert {
        "vllm:num_requests_running": "gauge",
        "vllm:num_requests_waiting": "gauge",
        "vllm:kv_cache_usage_perc": "gauge",
        "vllm:prompt_tokens": "counter",
        "vllm:generation_tokens": "counter",
        "vllm:request_success": "counter",
        TTFT: "histogram",
        ITL: "histogram",
    } == {name: family.type for name, family in families(busy).items()}


def test_every_signal_of_the_predictor_is_exposed():
    vllm = shipped()["vllm"].series
    asked = {vllm[signal][0].name for signal in NOW_SIGNALS if signal in vllm}
    assert set() == asked - {series.name for series in SERIES}


def test_requests_and_tokens_are_counted_in_whole_numbers(busy):
    for (name, _), sample in samples(busy).items():
        if not name.endswith("_sum") and name != "vllm:kv_cache_usage_perc":
            assert sample.value.is_integer()


@pytest.mark.parametrize(("name", "edges_s"), [(TTFT, TTFT_EDGES_S), (ITL, ITL_EDGES_S)])
def test_a_histogram_adds_up(busy, name, edges_s):
    text = samples(busy)
    buckets = [text[f"{name}_bucket", (("le", le),)].value for le in (*map(repr, edges_s.tolist()), "+Inf")]
    assert sorted(buckets) == buckets
    assert text[f"{name}_count", ()].value == buckets[-1]
    assert 0 < buckets[-1]


def test_times_between_tokens_are_the_law_s_at_the_mean_batch(busy):
    """Their sum is the time for which requests were resident; sum over count is what one token took."""
    text, pace = samples(busy), busy.pace
    sum_s, tokens = text[f"{ITL}_sum", ()].value, text[f"{ITL}_count", ()].value
    mean_batch = sum_s / 300
    assert pytest.approx(busy.counts.running[0], rel=0.05) == mean_batch
    assert pytest.approx(pace.itl_s[0] + pace.itl_s_per_request[0] * mean_batch, rel=1e-3) == sum_s / tokens


def test_each_pod_shows_its_own_histogram():
    made = engines(constant(7, 300), pods=2)
    made.advance(100)
    made.set_ready("a-1", is_ready=False)
    made.advance(300)
    totals = [samples(made, pod)[f"{TTFT}_bucket", (("le", "+Inf"),)].value for pod in range(2)]
    halves = [samples(made, pod)[f"{TTFT}_bucket", (("le", "2560.0"),)].value for pod in range(2)]
    assert totals == np.floor(made.counts.ttft_count).tolist() == halves
    assert totals[0] > 4 * totals[1]


def test_sum_over_count_is_the_mean_of_the_engine(busy):
    text = samples(busy)
    mean_s = text[f"{TTFT}_sum", ()].value / text[f"{TTFT}_count", ()].value
    exact_s = busy.counts.ttft_sum_s[0] / busy.counts.ttft_count[0]
    assert pytest.approx(exact_s, rel=1e-3) == mean_s


def test_buckets_tell_the_same_mean_as_sum_and_count(busy):
    """Read back from the buckets, by the share above each edge, an exponential has the mean of the sum."""
    counts = busy.counts
    share = counts.ttft_under[0] / counts.ttft_count[0]
    edge = int(np.argmax(share > 0.5))
    from_bucket_s = -TTFT_EDGES_S[edge] / math.log1p(-share[edge])
    assert pytest.approx(counts.ttft_sum_s[0] / counts.ttft_count[0], rel=0.02) == from_bucket_s


def test_gauges_follow_the_engine(busy):
    text = samples(busy)
    assert round(busy.counts.running[0]) == text["vllm:num_requests_running", ()].value
    use = busy.counts.running[0] * busy.pace.kv_use_per_request[0]
    assert pytest.approx(use) == text["vllm:kv_cache_usage_perc", ()].value


def test_kv_use_does_not_exceed_one():
    made = engines(constant(400, 120))
    made.advance(120)
    made.counts.running *= 1000
    assert 1.0 == samples(made)["vllm:kv_cache_usage_perc", ()].value
