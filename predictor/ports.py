"""What the predictor asks of the world, and what it promises to the service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fleet.demand import PeakForecast
from fleet.sample import Sample
from fleet.signal import Signal
from fleet.workload import WorkloadKey

BUCKET_S = 60
"""Length of a demand bucket; buckets start at whole minutes, UTC."""

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DemandHistory:
    """Offered demand of one workload in consecutive minute buckets.

    Attributes:
        workload: Whose demand.
        start_s: Start of the first bucket, seconds since the epoch, a multiple of `BUCKET_S`.
        requests_per_s: Mean offered requests/s by bucket; NaN where unknown, 0 where idle.
        prompt_tokens: Mean prompt tokens of a request by bucket, the last known one carried on.
        output_tokens: Mean output tokens of a request by bucket, the last known one carried on.
        is_censored: Buckets in which the workload queued or shed, so that demand was at least this.
    """

    workload: WorkloadKey
    start_s: int
    requests_per_s: Floats
    prompt_tokens: Floats
    output_tokens: Floats
    is_censored: Bools

    @property
    def end_s(self) -> int:
        """End of the last bucket, seconds since the epoch."""
        return self.start_s + BUCKET_S * len(self.requests_per_s)


@dataclass(frozen=True, slots=True)
class SignalBuckets:
    """Readings of one workload in consecutive minute buckets, over all its pods.

    Attributes:
        workload: Whose readings.
        start_s: Start of the first bucket, seconds since the epoch, a multiple of `BUCKET_S`.
        values: By signal: the increase inside the bucket for counters, the last value for gauges, summed
            over pods (a ratio: the fullest pod's); NaN where nothing was read, never an invented zero.
        partial_s: Spans (from, to) in s of which the source says that it may not have all; NaN there.
    """

    workload: WorkloadKey
    start_s: int
    values: Mapping[Signal, Floats]
    partial_s: tuple[tuple[int, int], ...] = ()

    @property
    def end_s(self) -> int:
        """End of the last bucket, seconds since the epoch."""
        return self.start_s + BUCKET_S * max((len(values) for values in self.values.values()), default=0)


@dataclass(frozen=True, slots=True)
class InstantSamples:
    """Newest readings of one workload, by pod.

    Attributes:
        workload: Whose readings.
        at_s: When they were asked for, seconds since the epoch.
        pods: By pod name: the increase over the last minute for counters, the newest value for gauges.
            A pod that was not scraped lately is missing or `Unknown`.
    """

    workload: WorkloadKey
    at_s: float
    pods: Mapping[str, Mapping[Signal, Sample]]


class MetricsSource(Protocol):
    """Where signals are read from; answers for many workloads at once, so that queries grow with signals.

    Raises `fleet.errors.UnavailableError` when it does not answer. Which series belong to a workload
    is given when a source is made: labels that its series carry.
    """

    def samples(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], start_s: int, end_s: int
    ) -> Mapping[WorkloadKey, SignalBuckets]:
        """Return closed minute buckets in [start_s, end_s); a workload without series is all NaN."""
        ...

    def now(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], at_s: float
    ) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest readings of each workload as of `at_s`."""
        ...


PodName = tuple[str, str]
"""Namespace and name."""


@dataclass(frozen=True, slots=True)
class PodMemory:
    """The most memory that one pod was read to have of late, bytes; `None` = nothing was read.

    Attributes:
        host: Of its node's.
        device: Of its device's, with all who share that device.
    """

    host: float | None = None
    device: float | None = None


class MemorySource(Protocol):
    """Where memory of pods is read from. Raises `fleet.errors.UnavailableError` when it does not answer."""

    def memory(self, pods: Sequence[PodName], at_s: float) -> Mapping[PodName, PodMemory]:
        """Return what each pod was read to have in the last `MEMORY_S` up to `at_s`."""
        ...


MEMORY_S = 120
"""How far back readings of memory go: an exporter reads a device every 30 s and is scraped once a minute."""


@dataclass(frozen=True, slots=True)
class WorkSeries:
    """Work of one workload in consecutive minute buckets: what a forecaster sees.

    Attributes:
        workload: Whose work.
        start_s: Start of the first bucket, seconds since the epoch.
        work: Mean work by bucket, in full reference replicas; NaN where unknown.
        is_censored: Buckets in which the true work was at least this.
    """

    workload: WorkloadKey
    start_s: int
    work: Floats
    is_censored: Bools

    @property
    def end_s(self) -> int:
        """End of the last bucket, seconds since the epoch."""
        return self.start_s + BUCKET_S * len(self.work)


class Forecaster(Protocol):
    """Peaks ahead of one workload. Quantiles are ordered, finite, never negative; none uses the future."""

    def fit(self, history: WorkSeries) -> Forecaster:
        """Learn from the history and return self."""
        ...

    def update(self, work: float, *, is_censored: bool = False) -> None:
        """Append the next closed bucket (NaN = unknown)."""
        ...

    def peaks(self) -> PeakForecast:
        """Return peaks over every window and quantile of `fleet.demand`, as of the last bucket seen."""
        ...
