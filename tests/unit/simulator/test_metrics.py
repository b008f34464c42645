"""What was scraped answers the predictor's questions as a metrics store would."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fleet.sample import Value
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.demand import HISTORY_SIGNALS, demand_history
from predictor.engines import shipped
from simulator.metrics import SCRAPE_S, EmbeddedMetrics, Past
from simulator.series import exposition
from tests.builders.engines import MIX, WHOLE, constant, engines, workload

KEY = workload().key


def scraped(made, seconds, every_s=SCRAPE_S, **kept):
    metrics = EmbeddedMetrics(made, **kept)
    for at_s in range(0, seconds + 1, every_s):
        metrics.scrape(at_s)
    return metrics


def test_buckets_count_what_was_served():
    made = engines(constant(5, 600), pods=2)
    values = scraped(made, 600).samples([Signal.COMPLETIONS, Signal.RUNNING], [KEY], 0, 600)[KEY].values
    assert pytest.approx(300, abs=3) == values[Signal.COMPLETIONS][5]
    assert pytest.approx(made.counts.running.sum(), abs=1) == values[Signal.RUNNING][-1]


def test_offered_demand_is_found_again():
    """Through counters, scrapes and increases: completions plus growth is what arrived, minute by minute."""
    arrivals = np.repeat(np.random.default_rng(3).integers(0, 40, 20), 60)[:, np.newaxis].astype(float)
    made = engines(arrivals, pods=2)
    history = demand_history(scraped(made, 1200).samples(HISTORY_SIGNALS, [KEY], 0, 1200)[KEY])
    offered = arrivals.reshape(20, 60).mean(axis=1)
    assert np.allclose(offered[1:], history.requests_per_s[1:], atol=0.1)
    assert pytest.approx(MIX.prompt_tokens, rel=0.02) == history.prompt_tokens[-1]


def test_what_is_kept_does_not_grow_with_time_and_says_what_it_said():
    """Two hours and four, scraped by the minute, of which one is kept, and four of which all is."""
    hour = 3600
    short, long, whole = (
        scraped(engines(constant(6, 4 * hour)), until_s, 60, retention_s=kept_s)
        for until_s, kept_s in ((2 * hour, hour), (4 * hour, hour), (4 * hour, np.inf))
    )
    told = [each.samples([Signal.COMPLETIONS], [KEY], 3 * hour + 60, 4 * hour)[KEY] for each in (long, whole)]
    assert told[0].values[Signal.COMPLETIONS].tobytes() == told[1].values[Signal.COMPLETIONS].tobytes()
    short.now([], [KEY], 2 * hour)
    sizes = [len(pickle.dumps(each)) for each in (short, long, whole)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.01)
    assert sizes[1] + 2 * 60 * 8 * 16 < sizes[2]


def test_now_tells_pods_apart():
    made = engines(constant(6, 300), pods=3)
    pods = scraped(made, 300).now([Signal.TTFT_COUNT], [KEY], 300)[KEY].pods
    assert {"a-0", "a-1", "a-2"} == pods.keys()
    for pod in pods.values():
        assert pytest.approx(120, abs=1.01) == pod[Signal.TTFT_COUNT].value


def test_an_engine_that_still_loads_answers_no_scrape():
    made = engines(constant(6, 300))
    made.start("a-1", KEY, WHOLE)
    assert {"a-0"} == scraped(made, 120).now([Signal.RUNNING], [KEY], 120)[KEY].pods.keys()


def test_a_pod_that_is_gone_is_absent_once_it_is_stale():
    made = engines(constant(6, 3000), pods=2)
    metrics = scraped(made, 120)
    made.stop("a-0")
    for at_s in range(135, 601, SCRAPE_S):
        metrics.scrape(at_s)
    assert {"a-1"} == metrics.now([Signal.RUNNING], [KEY], 600)[KEY].pods.keys()


def test_a_restart_adds_nothing_and_takes_nothing():
    """The second pod's counters begin at zero; the workload's increase goes on."""
    made = engines(constant(6, 3000))
    metrics = scraped(made, 300)
    made.stop("a-0")
    made.start("a-1", KEY, WHOLE)
    made.set_ready("a-1", is_ready=True)
    for at_s in range(315, 901, SCRAPE_S):
        metrics.scrape(at_s)
    completions = metrics.samples([Signal.COMPLETIONS], [KEY], 0, 900)[KEY].values[Signal.COMPLETIONS]
    assert pytest.approx(360, abs=3) == completions[2]
    assert pytest.approx(360, abs=3) == completions[-1]
    assert np.nanmin(completions) >= 0


def test_asking_between_scrapes_changes_no_answer():
    """Scrapes are sorted many at once where nobody asks; sums of times are no whole numbers."""
    signals = [Signal.TTFT_SUM, Signal.COMPLETIONS, Signal.RUNNING]
    made = engines(constant(6, 900), pods=2)
    curious, patient = EmbeddedMetrics(made), EmbeddedMetrics(made)
    for at_s in range(0, 901, SCRAPE_S):
        if at_s == 450:
            made.stop("a-1")
        curious.scrape(at_s)
        patient.scrape(at_s)
        curious.now(signals, [KEY], at_s)
    asked, not_asked = (one.samples(signals, [KEY], 0, 900)[KEY].values for one in (curious, patient))
    for signal in signals:
        np.testing.assert_array_equal(asked[signal], not_asked[signal])
    assert curious.now(signals, [KEY], 900) == patient.now(signals, [KEY], 900)


def test_an_unknown_workload_is_all_unknown():
    stranger = WorkloadKey("shop", "stranger")
    metrics = scraped(engines(constant(1, 60)), 60)
    values = metrics.samples([Signal.COMPLETIONS], [stranger], 0, 60)[stranger].values[Signal.COMPLETIONS]
    assert np.isnan(values).all()
    assert {} == metrics.now([Signal.COMPLETIONS], [stranger], 60)[stranger].pods


def past(minutes):
    rng = np.random.default_rng(1)
    ones = np.ones(minutes)
    return Past(
        0, rng.integers(0, 900, minutes) * 1.0, 300 * ones, 60 * ones, 0.2 * ones, 3.2 * ones, 0.01 * ones
    )


def test_the_past_is_what_it_was_said_to_be():
    metrics, was = EmbeddedMetrics(engines(constant(0, 1))), past(50)
    metrics.remember(KEY, was)
    history = demand_history(metrics.samples(HISTORY_SIGNALS, [KEY], 0, 3000)[KEY])
    assert np.allclose(was.requests[1:] / 60, history.requests_per_s[1:])
    assert np.allclose(300, history.prompt_tokens[1:], rtol=1e-3)
    assert not history.is_censored.any()


def test_the_past_is_counted_in_whole_tokens():
    metrics, was = EmbeddedMetrics(engines(constant(0, 1))), past(50)
    metrics.remember(KEY, replace(was, prompt_tokens=was.prompt_tokens + 0.37))
    tokens = metrics.samples([Signal.PROMPT_TOKENS], [KEY], 0, 3000)[KEY].values[Signal.PROMPT_TOKENS]
    assert np.all(tokens == np.rint(tokens))


def test_the_past_goes_over_into_the_present_without_a_gap():
    made = engines(np.concatenate((np.zeros((3000, 1)), constant(5, 600))))
    metrics = EmbeddedMetrics(made)
    metrics.remember(KEY, past(50))
    for at_s in range(3000, 3601, SCRAPE_S):
        metrics.scrape(at_s)
    completions = metrics.samples([Signal.COMPLETIONS], [KEY], 0, 3600)[KEY].values[Signal.COMPLETIONS]
    assert not np.isnan(completions).any()
    assert pytest.approx(300, abs=2) == completions[-1]


def test_the_past_is_nobodys_pod_five_minutes_later():
    metrics = EmbeddedMetrics(engines(constant(0, 1)))
    metrics.remember(KEY, past(50))
    assert {} != metrics.now([Signal.RUNNING], [KEY], 3060)[KEY].pods
    assert {} == metrics.now([Signal.RUNNING], [KEY], 3301)[KEY].pods


def test_newest_values_are_those_of_the_text_that_the_pod_exposes():
    """What the predictor reads of a gauge is what a scrape of the text would have given it."""
    made = engines(constant(9, 300))
    metrics = scraped(made, 300)
    text = {
        sample.name: sample.value
        for family in text_string_to_metric_families(exposition(made.counts, made.pace, 0, "m"))
        for sample in family.samples
    }
    for signal in (Signal.RUNNING, Signal.WAITING, Signal.KV_USE):
        newest = metrics.now([signal], [KEY], 300)[KEY].pods["a-0"][signal]
        assert Value(text[shipped()["vllm"].series[signal][0].name]) == newest
