"""A metrics store inside the process: scrapes engines as Prometheus would, and answers the predictor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from fleet.signal import Signal
from fleet.workload import Workload, WorkloadKey
from predictor.ports import InstantSamples, SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from simulator.engine import Engines
from simulator.series import SERIES, TTFT, readings
from simulator.traces import Floats
from simulator.traffic import MINUTE_S

SCRAPE_S = 15
"""Seconds between two scrapes."""

_SORTED_AFTER = 240
"""Scrapes that wait to be sorted at most, an hour of them: all pods of a fleet are megabytes."""

_SETTLED_EVERY_S = 3600
"""How often what is no longer news is thinned out, and the oldest dropped."""

_NEWS_S = 900
"""How far back every reading is kept; of older ones the last of each minute."""


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


class _Scrape(NamedTuple):
    """What one scrape read: by pod and series, and what it knew of the pods (`Engines`)."""

    at_s: float
    names: tuple[str, ...]
    owners: tuple[Workload, ...]
    up: tuple[int, ...]
    table: Floats


class EmbeddedMetrics:
    """Implements `predictor.ports.MetricsSource` on what it scraped, as long as it keeps that: `retention_s`.

    Scrapes are kept as the tables that they are, and sorted into series when somebody asks, many at once:
    nobody asks as often as they are made but a loop that ticks.
    """

    def __init__(self, engines: Engines, retention_s: float = inf) -> None:
        self._engines = engines
        self._retention_s = retention_s
        self._settled_s = -inf
        self._stores = {workload.key: SeriesStore() for workload in engines.workloads}
        self._scrapes: list[_Scrape] = []
        self._keys: dict[str, list[SeriesKey]] = {}

    def scrape(self, at_s: float) -> None:
        """Read every engine that is up, as of `at_s`."""
        engines = self._engines
        engines.advance(at_s)
        table = readings(engines.counts, engines.pace)
        self._scrapes.append(_Scrape(at_s, engines.names, engines.owners, engines.up, table))
        if len(self._scrapes) == _SORTED_AFTER:
            self._sort()

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
        self._sort()
        self._stores[workload].extend(series, times_s, values)

    def samples(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], start_s: int, end_s: int
    ) -> Mapping[WorkloadKey, SignalBuckets]:
        """Return closed minute buckets in [start_s, end_s); a workload without series is all NaN."""
        self._sort()
        return {
            key: SignalBuckets(key, start_s, self._store(key).buckets(signals, start_s, end_s))
            for key in workloads
        }

    def now(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], at_s: float
    ) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest readings of each workload as of `at_s`."""
        self._sort()
        return {key: InstantSamples(key, at_s, self._store(key).now(signals, at_s)) for key in workloads}

    def _store(self, key: WorkloadKey) -> SeriesStore:
        return self._stores.get(key) or SeriesStore()

    def _sort(self) -> None:
        """Take what was scraped into the series, the scrapes of the same pods at once."""
        for (names, owners, up), run in groupby(self._scrapes, key=attrgetter("names", "owners", "up")):
            scrapes = list(run)
            times_s = np.array([scrape.at_s for scrape in scrapes])
            tables = np.array([scrape.table for scrape in scrapes])
            for at in up:
                store = self._stores[owners[at].key]
                for place, key in enumerate(self._keys_of(names[at])):
                    if len(scrapes) > 1:
                        store.extend(key, times_s, tables[:, at, place])
                    else:
                        store.append(key, scrapes[0].at_s, float(tables[0, at, place]))
            self._keys = {name: self._keys[name] for name in self._keys.keys() & set(names)}
        if self._scrapes and self._scrapes[-1].at_s - self._settled_s >= _SETTLED_EVERY_S:
            self._settled_s = self._scrapes[-1].at_s
            for store in self._stores.values():
                store.settle(self._settled_s - _NEWS_S, self._settled_s - self._retention_s)
        self._scrapes.clear()

    def _keys_of(self, pod: str) -> list[SeriesKey]:
        if pod not in self._keys:
            self._keys[pod] = [SeriesKey(pod, series.name, series.labels) for series in SERIES]
        return self._keys[pod]
