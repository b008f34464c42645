"""Timings of the predictor's hot paths: a closed bucket, a start, a tick's question, a file."""

import itertools
import math

import numpy as np
import pytest

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.demand import demand_history
from predictor.engines import shipped
from predictor.forecasters.hold import Hold
from predictor.ladder import Ladder
from predictor.now import NOW_SIGNALS, now_reading
from predictor.ports import InstantSamples, SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from predictor.sources.file import FileSource
from tests.builders.work import DAY, KEY, daily_work, series

PODS = 20
VLLM = shipped()["vllm"].series
SERIES = {signal: VLLM[signal] for signal in NOW_SIGNALS if signal in VLLM and not VLLM[signal][0].where}
SCRAPES = DAY * 4


@pytest.fixture(scope="module")
def store():
    """A day of scrapes, every 15 s, of 20 pods."""
    store = SeriesStore()
    times = np.arange(SCRAPES) * 15.0
    for pod in range(PODS):
        for signal, names in SERIES.items():
            gauge = 0.0 if signal is Signal.WAITING else 0.5
            values = np.arange(SCRAPES) * 2.0 if signal.is_counter else np.full(SCRAPES, gauge)
            store.extend(SeriesKey(f"pod-{pod}", names[0].name), times, values)
    return store


@pytest.mark.parametrize("maker", [Ladder, Hold])
def test_fit_on_ten_days_of_minutes(benchmark, maker):
    history = series(daily_work(10))
    benchmark.pedantic(lambda: maker(KEY).fit(history), rounds=3)


@pytest.mark.parametrize("maker", [Ladder, Hold])
def test_a_closed_bucket_of_one_workload(benchmark, maker):
    forecaster = maker(KEY).fit(series(daily_work(6)))
    buckets = itertools.cycle(daily_work(1, seed=1).tolist())

    def close():
        forecaster.update(next(buckets))
        return forecaster.peaks()

    assert math.isfinite(benchmark(close).peak(900, 0.95))


def test_what_a_tick_asks_of_twenty_pods(benchmark, store):
    at_s = 15.0 * SCRAPES - 15
    pods = benchmark(lambda: store.now(NOW_SIGNALS, at_s))
    assert PODS == len(pods)


def test_what_a_tick_concludes_of_twenty_pods(benchmark, store):
    at_s = 15.0 * SCRAPES - 15
    samples = InstantSamples(KEY, at_s, store.now(NOW_SIGNALS, at_s))
    assert () == benchmark(lambda: now_reading(samples, frozenset(samples.pods), None)).distrust


def test_one_scrape_of_twenty_pods(benchmark):
    keys = [SeriesKey(f"pod-{pod}", name[0].name) for pod in range(PODS) for name in SERIES.values()]
    store, times = SeriesStore(), itertools.count()

    def scrape():
        t_s = 15.0 * next(times)
        for key in keys:
            store.append(key, t_s, t_s)

    benchmark(scrape)


def test_the_last_bucket_of_twenty_pods(benchmark, store):
    end_s = 15 * SCRAPES // 60 * 60 - 60
    answer = benchmark(lambda: store.buckets(tuple(Signal), end_s - 60, end_s))
    assert 8 * PODS == answer[Signal.COMPLETIONS][0]


def test_ten_days_of_demand(benchmark):
    n = 10 * DAY
    values = {signal: np.full(n, 60.0) for signal in Signal}
    values[Signal.KV_USE] = np.full(n, 0.5)
    demand = benchmark(lambda: demand_history(SignalBuckets(KEY, 0, values)))
    assert n == len(demand.requests_per_s)


def test_a_file_of_eight_pods_and_eight_days(benchmark, tmp_path):
    """About 0.7 million rows."""
    path, n = tmp_path / "metrics.csv", 8 * DAY
    with path.open("w", encoding="utf-8") as file:
        file.write("timestamp,series,pod,namespace,value,model_name\n")
        for pod, names in itertools.product(range(8), SERIES.values()):
            file.writelines(f"{60 * i},{names[0].name},llama-{pod},prod,{i},llama\n" for i in range(n))
    workload = WorkloadKey("prod", "llama")
    source = benchmark.pedantic(lambda: FileSource(path, {workload: {"model_name": "llama"}}), rounds=2)
    assert 60 * (n - 1) == source.end_s
