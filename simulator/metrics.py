"""A metrics store inside the process: scrapes engines as Prometheus would, and answers the predictor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.ports import InstantSamples, SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from simulator.engine import Engines
from simulator.series import SERIES, TTFT, readings
from simulator.traces import Floats
from simulator.traffic import MINUTE_S

SCRAPE_S = 15
"""Seconds between two scrapes."""


@dataclass(frozen=True, slots=True)
class Past:
    """What one engine that served all of a workload's requests would have counted in past minutes.

    Attributes:
        start_s: Start of the first minute, seconds since the epoch.
        requests: Requests in each minute.
        prompt_tokens: Mean prompt tokens of a request by minute.
        output_tokens: Mean output tokens of a request by minute.
        ttft_s: Mean time to first token by minute.
        running: Mean requests in the batch by minute.
        kv_use: Share of the KV cache in use by minute.
    """

    start_s: int
    requests: Floats
    prompt_tokens: Floats
    output_tokens: Floats
    ttft_s: Floats
    running: Floats
    kv_use: Floats


class EmbeddedMetrics:
    """Implements `predictor.ports.MetricsSource` on what it scraped."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._stores = {workload.key: SeriesStore() for workload in engines.workloads}
        self._keys: dict[str, list[SeriesKey]] = {}

    def scrape(self, at_s: float) -> None:
        """Read every engine that is up, as of `at_s`."""
        engines = self._engines
        engines.advance(at_s)
        table = readings(engines.counts, engines.pace).tolist()
        names, owners = engines.names, engines.owners
        for at in engines.up:
            append = self._stores[owners[at].key].append
            for key, value in zip(self._keys_of(names[at]), table[at], strict=True):
                append(key, at_s, value)
        self._keys = {name: keys for name, keys in self._keys.items() if name in names}

    def remember(self, workload: WorkloadKey, past: Past) -> None:
        """Fill in minutes before the first scrape, as one pod that is gone now."""
        ends = past.start_s + np.arange(len(past.requests) + 1.0) * MINUTE_S
        counted = {
            "vllm:prompt_tokens_total": np.floor(np.cumsum(past.requests * past.prompt_tokens)),
            "vllm:generation_tokens_total": np.floor(np.cumsum(past.requests * past.output_tokens)),
            "vllm:request_success_total": np.cumsum(past.requests),
            f"{TTFT}_sum": np.cumsum(past.requests * past.ttft_s),
            f"{TTFT}_count": np.cumsum(past.requests),
        }
        gauges = {
            "vllm:num_requests_running": np.rint(past.running),
            "vllm:num_requests_waiting": np.zeros_like(past.running),
            "vllm:kv_cache_usage_perc": np.minimum(past.kv_use, 1.0),
        }
        pod = f"{workload.name}-before"
        for name, grown in counted.items():
            self.take(workload, SeriesKey(pod, name), ends, np.concatenate(([0.0], grown)))
        for name, values in gauges.items():
            self.take(workload, SeriesKey(pod, name), ends[1:], values)

    def take(self, workload: WorkloadKey, series: SeriesKey, times_s: Floats, values: Floats) -> None:
        """Take in readings of one series that somebody else scraped; their times rise."""
        self._stores[workload].extend(series, times_s, values)

    def samples(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], start_s: int, end_s: int
    ) -> Mapping[WorkloadKey, SignalBuckets]:
        """Return closed minute buckets in [start_s, end_s); a workload without series is all NaN."""
        return {
            key: SignalBuckets(key, start_s, self._store(key).buckets(signals, start_s, end_s))
            for key in workloads
        }

    def now(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], at_s: float
    ) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest readings of each workload as of `at_s`."""
        return {key: InstantSamples(key, at_s, self._store(key).now(signals, at_s)) for key in workloads}

    def _store(self, key: WorkloadKey) -> SeriesStore:
        return self._stores.get(key) or SeriesStore()

    def _keys_of(self, pod: str) -> list[SeriesKey]:
        if pod not in self._keys:
            self._keys[pod] = [SeriesKey(pod, series.name, series.labels) for series in SERIES]
        return self._keys[pod]
