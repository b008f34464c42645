"""Thirty days of 200 series, a reading a minute, from a real Prometheus: read, kept, and read again."""

import resource
import time

import numpy as np
import pytest

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.sources.kept import KeptSource
from predictor.sources.prometheus import PrometheusSource
from tests.prometheus.server import back_fill, prometheus, series_text

pytestmark = pytest.mark.timeout(1800)  # nine million readings are written first

DAYS = 30
MINUTES = DAYS * 1440
SERIES = {
    "vllm:request_success_total": Signal.COMPLETIONS,
    "vllm:prompt_tokens_total": Signal.PROMPT_TOKENS,
    "vllm:generation_tokens_total": Signal.OUTPUT_TOKENS,
    "vllm:num_requests_waiting": Signal.WAITING,
    "vllm:num_requests_running": Signal.RUNNING,
    "vllm:kv_cache_usage_perc": Signal.KV_USE,
    "vllm:time_to_first_token_seconds_sum": Signal.TTFT_SUM,
    "vllm:time_to_first_token_seconds_count": Signal.TTFT_COUNT,
}
SIGNALS = tuple(SERIES.values())
WORKLOADS = 200 // len(SERIES)
KEYS = [WorkloadKey("prod", f"model-{number}") for number in range(WORKLOADS)]
END_S = 1_772_323_200


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A Prometheus that has scraped these engines for thirty days."""
    directory = tmp_path_factory.mktemp("prometheus")
    back_fill(directory, _readings())
    with prometheus(directory) as started:
        yield started


def _readings():
    for number, key in enumerate(KEYS):
        daily = 60 + 50 * np.sin(np.arange(MINUTES + 60) * 2 * np.pi / 1440 + number)
        for name, signal in SERIES.items():
            text = series_text(name, {"namespace": "prod", "pod": f"{key.name}-0", "model_name": key.name})
            values = daily.cumsum() if signal.is_counter else np.full(MINUTES + 60, 0.5)
            for at, value in enumerate(values.tolist()):
                yield text, END_S - 60 * (MINUTES + 59 - at), value


@pytest.fixture
def source(url):
    return PrometheusSource(url, {key: {"namespace": "prod", "model_name": key.name} for key in KEYS})


def _noted(benchmark, read):
    """Run it once, and note CPU and the most memory that the process ever had."""
    started_s = time.process_time()
    told = benchmark.pedantic(read, rounds=1)
    benchmark.extra_info["cpu_s"] = round(time.process_time() - started_s, 1)
    benchmark.extra_info["peak_mib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    assert MINUTES == np.isfinite(told[KEYS[-1]].values[Signal.COMPLETIONS]).sum()


def test_thirty_days_that_nothing_is_kept_of(benchmark, source, tmp_path):
    kept = KeptSource(source, tmp_path / "past", source.origins(), SIGNALS, DAYS * 86_400.0)
    _noted(benchmark, lambda: kept.samples(SIGNALS, KEYS, END_S - 60 * MINUTES, END_S))


def test_thirty_days_that_are_kept_but_for_the_last_minutes(benchmark, source, tmp_path):

    def restarted():
        return KeptSource(source, tmp_path / "past", source.origins(), SIGNALS, DAYS * 86_400.0)

    restarted().samples(SIGNALS, KEYS, END_S - 60 * MINUTES, END_S)
    benchmark.extra_info["kept_mib"] = round(
        sum(path.stat().st_size for path in (tmp_path / "past").iterdir()) / 2**20, 1
    )
    _noted(benchmark, lambda: restarted().samples(SIGNALS, KEYS, END_S - 60 * MINUTES, END_S))
