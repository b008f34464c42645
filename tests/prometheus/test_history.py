"""What a Prometheus has collected is told as any other source would tell it, however much of it there is."""

import csv
import math
import re
from random import Random
from urllib.request import urlopen

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fleet.sample import Value, known
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.sources.access import Access
from predictor.sources.file import FileSource
from predictor.sources.prometheus import PrometheusSource
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi
from simulator.metrics import EmbeddedMetrics
from simulator.series import SERIES, exposition
from tests.builders.engines import constant, engines
from tests.builders.scrapes import LLAMA, QWEN, Scraped, minutes
from tests.prometheus.conftest import MATCHES, past
from tests.prometheus.server import series_text

DONE = "vllm:request_success_total"
WAITING = "vllm:num_requests_waiting"
KV_NEW, KV_OLD = "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"
NAN = math.nan


def buckets(source, signal, n, start_s=0, workload=LLAMA):
    return source.samples([signal], [workload], start_s, start_s + 60 * n)[workload].values[signal]


def newest(source, signal, at_s, workload=LLAMA):
    pods = source.now([signal], [workload], at_s)[workload].pods
    return {pod: samples[signal] for pod, samples in pods.items()}


def known_now(source, signals, at_s):
    """What is known now; why something is not may differ, as a query looks back five minutes only."""
    pods = source.now(signals, [LLAMA], at_s)[LLAMA].pods
    return {
        pod: {signal: known(sample) for signal, sample in samples.items()} for pod, samples in pods.items()
    }


def queries(url):
    """How many queries a Prometheus has answered."""
    with urlopen(f"{url}/metrics") as answer:  # noqa: S310
        text = answer.read().decode()
    told = re.findall(
        r'^prometheus_http_requests_total\{.*handler="/api/v1/query".*\} (\d+)', text, re.MULTILINE
    )
    return sum(map(int, told))


def test_more_than_eleven_thousand_buckets(source_of):
    n = 12_000
    counts = np.random.default_rng(1).integers(0, 100, n + 1).cumsum()
    source = source_of(Scraped("a", DONE, minutes(counts.tolist())))
    np.testing.assert_array_equal(np.diff(counts), buckets(source, Signal.COMPLETIONS, n))


def test_more_than_eleven_thousand_readings_in_one_query(source_of):
    """No reason to scrape every second, and no reason to fail."""
    source = source_of(Scraped("a", DONE, [(t_s, 2 * t_s) for t_s in range(6 * 3600 + 1)]))
    assert [120] * 360 == buckets(source, Signal.COMPLETIONS, 360).tolist()


def test_no_buckets_at_all(source_of):
    assert 0 == len(buckets(source_of(Scraped("a", DONE, minutes([0, 1]))), Signal.COMPLETIONS, 0))


def scripted(random, pod, name, until_s):
    """Readings of a pod that starts and ends at some time; it restarts, is missed and says NaN at times."""
    t_s = random.uniform(0, until_s / 2)
    end_s = random.uniform(t_s, until_s * 1.2)
    value, readings = 0.0, []
    while t_s < min(end_s, until_s):
        value = 0.0 if random.random() < 0.01 else value + random.randrange(50)
        readings.append((round(t_s, 3), NAN if random.random() < 0.01 else value))
        t_s += 15 if random.random() < 0.97 else random.uniform(16, 200)
    return Scraped(pod, name, readings or [(0, 0)])


def test_the_same_as_from_a_file(source_of, tmp_path):
    random = Random(4)
    until_s = 4 * 3600
    scraped = [
        scripted(random, f"pod-{pod}", name, until_s)
        for pod in range(12)
        for name in (DONE, WAITING, random.choice([KV_NEW, KV_OLD]))
    ]
    path = tmp_path / "metrics.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["timestamp", "series", "pod", "namespace", "value", "model_name"])
        for series in scraped:
            writer.writerows(
                [t_s, series.series, series.pod, "prod", value, "llama"] for t_s, value in series.readings
            )
    file_source = FileSource(path, {LLAMA: MATCHES[LLAMA]})
    source = source_of(*scraped)
    signals = [Signal.COMPLETIONS, Signal.WAITING, Signal.KV_USE]

    told = source.samples(signals, [LLAMA], 0, until_s)[LLAMA]
    expected = file_source.samples(signals, [LLAMA], 0, until_s)[LLAMA]
    for signal in signals:
        np.testing.assert_allclose(told.values[signal], expected.values[signal], rtol=1e-12)
        assert 20 < np.isfinite(told.values[signal]).sum() < until_s // 60
    for at_s in range(0, until_s, 611):
        assert known_now(file_source, signals, at_s) == known_now(source, signals, at_s)


def test_the_minute_in_which_scraping_goes_on_is_unknown_and_not_low(source_of):
    """Whether it is read as it closes or with all others: what came in the outage is not in its readings."""
    steady = [(t_s, t_s) for t_s in (*range(0, 301, 15), *range(2145, 2401, 15))]
    source = source_of(Scraped("a", DONE, steady))
    told = [60] * 5 + [NAN] * 31 + [60] * 4
    np.testing.assert_array_equal(told, buckets(source, Signal.COMPLETIONS, 40))
    np.testing.assert_array_equal([NAN], buckets(source, Signal.COMPLETIONS, 1, start_s=35 * 60))
    np.testing.assert_array_equal([60], buckets(source, Signal.COMPLETIONS, 1, start_s=36 * 60))


def test_two_weeks_of_scrapes_every_15_s_are_asked_for_in_pieces_and_lose_nothing(server_of):
    """At once they are 80,641 points, and more than 11,000 are refused (prometheus/prometheus#2253)."""
    days, step_s = 14, 15
    steps = days * 86400 // step_s
    counted = [(step_s * at, float(3 * at)) for at in range(steps + 1)]
    source = PrometheusSource(server_of(past(Scraped("a", DONE, counted))), MATCHES)
    told = buckets(source, Signal.COMPLETIONS, days * 1440)
    assert (80_640, 3 * 80_640) == (steps, told.sum())
    assert {12.0} == set(told)


def test_the_same_as_from_embedded_metrics_of_simulated_engines(server_of):
    """Prometheus reads the engines' own text, the embedded store their numbers."""
    made = engines(np.concatenate([constant(rate, 600) for rate in (3, 30, 900, 1)]), pods=2)
    [key] = {workload.key for workload in made.workloads}
    embedded = EmbeddedMetrics(made)
    readings = []
    for at_s in range(15, 2400, 15):
        embedded.scrape(at_s)
        for at, pod in enumerate(made.names):
            text = exposition(made.counts, made.pace, at, "a")
            for series, value in re.findall(r"^(vllm:.*)\} (\S+)$", text, re.MULTILINE):
                readings.append((f'{series},namespace="shop",pod="{pod}"}}', at_s, value))
    source = PrometheusSource(server_of(readings), {key: {"namespace": "shop", "model_name": "a"}})

    told = source.samples([*Signal], [key], 0, 2400)[key]
    expected = embedded.samples([*Signal], [key], 0, 2400)[key]
    assert {kind.name for kind in SERIES} <= {text.split("{")[0] for text, _, _ in readings}
    for signal in Signal:
        np.testing.assert_allclose(told.values[signal], expected.values[signal], rtol=1e-12)
    assert {
        Signal.COMPLETIONS,
        Signal.PROMPT_TOKENS,
        Signal.OUTPUT_TOKENS,
        Signal.WAITING,
        Signal.RUNNING,
        Signal.KV_USE,
        Signal.TTFT_SUM,
        Signal.TTFT_COUNT,
        Signal.ITL_SUM,
        Signal.ITL_COUNT,
    } == {signal for signal in Signal if 0 < told.values[signal][:-1].max()}
    assert embedded.now([*Signal], [key], 2390)[key] == source.now([*Signal], [key], 2390)[key]


def replica(name, *scraped):
    return past(*scraped, prometheus_replica=name, prometheus="monitoring/k8s")


def test_two_replicas_of_prometheus_count_a_pod_once(server_of):
    one = Scraped("a", DONE, minutes([0, 10, 30]))
    other = Scraped("a", DONE, [(t_s - 7, value) for t_s, value in minutes([0, 10, 30], start_s=60)])
    source = PrometheusSource(server_of(replica("0", one) + replica("1", other)), MATCHES)
    np.testing.assert_array_equal([10, 20], buckets(source, Signal.COMPLETIONS, 2))
    assert {"a": Value(20)} == newest(source, Signal.COMPLETIONS, 120)


def test_what_one_replica_missed_the_other_tells(server_of):
    """Replicas are restarted one after the other; new pods are not found by both at once."""
    one = Scraped("a", DONE, [(0, 0), (60, 10), (300, 50), (360, 60)])
    other = Scraped("a", DONE, minutes([5, 15, 25, 35, 45]))
    new = Scraped("b", DONE, minutes([0, 1, 2, 3, 4, 5, 6]))
    server = server_of(replica("0", one) + replica("1", other, new))
    source = PrometheusSource(server, MATCHES)
    np.testing.assert_array_equal([11, 11, 11, 11, NAN, 11], buckets(source, Signal.COMPLETIONS, 6))
    assert {"a": Value(10), "b": Value(1)} == newest(source, Signal.COMPLETIONS, 180)


def test_two_jobs_that_scrape_the_same_pod_count_it_once(server_of):
    scraped = Scraped("a", DONE, minutes([0, 10, 30]))
    source = PrometheusSource(server_of(past(scraped, job="pods") + past(scraped, job="service")), MATCHES)
    np.testing.assert_array_equal([10, 20], buckets(source, Signal.COMPLETIONS, 2))


def test_two_engines_of_a_pod_are_summed(server_of):
    scraped = Scraped("a", DONE, minutes([0, 10, 30]))
    server = server_of(past(scraped, instance="10.0.0.1:8000") + past(scraped, instance="10.0.0.1:8001"))
    source = PrometheusSource(server, MATCHES)
    np.testing.assert_array_equal([20, 40], buckets(source, Signal.COMPLETIONS, 2))


def test_a_pod_without_a_name_is_known_by_its_address(server_of):
    scraped = Scraped("", DONE, minutes([0, 10, 30]))
    source = PrometheusSource(server_of(past(scraped, instance="10.0.0.1:8000")), MATCHES)
    assert {"10.0.0.1:8000": Value(20)} == newest(source, Signal.COMPLETIONS, 120)


@pytest.mark.parametrize("what", ["Inf", "-Inf", "NaN"])
def test_what_is_no_number_is_unknown(source_of, what):
    value = float(what)
    source = source_of(
        Scraped("a", WAITING, minutes([1, value, 3])), Scraped("a", DONE, minutes([0, value, value]))
    )
    np.testing.assert_array_equal([NAN, 3], buckets(source, Signal.WAITING, 2))
    assert np.isnan(buckets(source, Signal.COMPLETIONS, 2)).all()
    assert {} == newest(source, Signal.WAITING, 60), "a pod of which nothing is known is not there"


def test_queries_grow_with_signals_and_not_with_workloads(server_of):
    models = [f"model-{number}" for number in range(50)]
    server = server_of(past(*(Scraped(f"{m}-0", DONE, minutes([0, 7]), model=m) for m in models)))
    keys = [WorkloadKey("prod", model) for model in models]
    source = PrometheusSource(server, {key: {"model_name": key.name} for key in keys})
    before = queries(server)
    told = source.samples([Signal.COMPLETIONS, Signal.WAITING], keys, 0, 60)
    assert {7} == {told[key].values[Signal.COMPLETIONS][0] for key in keys}
    assert 2 == queries(server) - before
    now = source.now([*Signal], keys, 60)
    assert {Value(7)} == {now[key].pods[f"{key.name}-0"][Signal.COMPLETIONS] for key in keys}
    assert 3 == queries(server) - before


def test_workloads_may_be_matched_by_different_labels(server_of):
    server = server_of(
        past(Scraped("a", DONE, minutes([0, 7])))
        + past(Scraped("b", DONE, minutes([0, 9]), model="qwen"), namespace="test")
        + past(Scraped("c", DONE, minutes([0, 100])), namespace="test")
    )
    source = PrometheusSource(server, {LLAMA: MATCHES[LLAMA], QWEN: {"pod": "b"}})
    told = source.samples([Signal.COMPLETIONS], [LLAMA, QWEN], 0, 60)
    assert {LLAMA: 7, QWEN: 9} == {key: told[key].values[Signal.COMPLETIONS][0] for key in told}


def test_values_of_two_labels_are_not_mixed(server_of):
    """One query for (prod, llama) and (test, qwen) finds (prod, qwen) and (test, llama) too."""
    others = Scraped("x", DONE, minutes([0, 1000])), Scraped("y", DONE, minutes([0, 1000]), model="qwen")
    server = server_of(
        past(Scraped("a", DONE, minutes([0, 7])), others[1])
        + past(Scraped("b", DONE, minutes([0, 9]), model="qwen"), others[0], namespace="test")
    )
    matches = {LLAMA: MATCHES[LLAMA], QWEN: {"namespace": "test", "model_name": "qwen"}}
    told = PrometheusSource(server, matches).samples([Signal.COMPLETIONS], [LLAMA, QWEN], 0, 60)
    assert {LLAMA: 7, QWEN: 9} == {key: told[key].values[Signal.COMPLETIONS][0] for key in told}


ODD = [
    '"',
    "\\",
    "\n",
    'a"} or up{x="',
    "a|b",
    "a.b",
    ".*",
    "(a",
    "a\\n",
    "ä",
    "模型",
    "🦙",
    "org/m-1:8b",
    "{{x}}",
    "\t",
]


def test_any_value_of_a_label_means_itself(server_of):
    server = server_of([(series_text(DONE, {"model_name": odd}), 60, at) for at, odd in enumerate(ODD)])
    api = QueryApi(server, Access())

    @settings(suppress_health_check=[HealthCheck.too_slow])
    @given(
        wanted=st.lists(
            st.one_of(st.sampled_from(ODD), st.text(st.characters(exclude_categories=["Cs"]), min_size=1)),
            min_size=1,
            max_size=4,
        )
    )
    def check(wanted):
        answer = api.readings(selector([DONE], {"model_name": wanted}), 60, 60.0)
        assert {odd: ODD.index(odd) for odd in wanted if odd in ODD} == {
            labels["model_name"]: values[0] for labels, _, values in answer.series
        }

    check()
