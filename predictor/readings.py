"""Raw readings of a workload's pods, and the signals they amount to: shared by every source that scrapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fleet.sample import Reason, Sample, Unknown, Value
from fleet.signal import Signal
from predictor.engines import VLLM, Engine
from predictor.ports import BUCKET_S, Floats
from predictor.series import STALE_S, Series


class SeriesKey(NamedTuple):
    """Names one raw series of a workload.

    Attributes:
        pod: Name of the pod that exports it.
        series: The engine's own name for it.
        labels: What else tells it apart, e.g. `(("finished_reason", "stop"),)`.
    """

    pod: str
    series: str
    labels: tuple[tuple[str, str], ...] = ()


class SeriesStore:
    """Everything that was scraped from the pods of one workload.

    A pod that is gone keeps its past for `buckets` and is absent from `now` once it has been silent for
    `STALE_S`; whether it ought to be there is the caller's to know.
    """

    def __init__(self, engine: Engine = VLLM) -> None:
        self._engine = engine
        self._signals = engine.signals()
        self._series: dict[SeriesKey, Series] = {}
        self._pods: dict[str, dict[Signal, list[list[Series]]]] = {}
        self._newest_s: dict[str, float] = {}

    def append(self, key: SeriesKey, t_s: float, value: float) -> None:
        """Add one reading; one of a series that carries no signal is dropped.

        Raises:
            ValueError: The reading is not newer than the last one of its series.
        """
        series = self._series.get(key) or self._register(key)
        if series is not None:
            series.append(t_s, value)
            self._newest_s[key.pod] = t_s

    def extend(self, key: SeriesKey, times: ArrayLike, values: ArrayLike) -> None:
        """Add many readings of one series at once; times must rise."""
        series = self._series.get(key) or self._register(key)
        if series is not None:
            series.extend(times, values)
            self._newest_s[key.pod] = max(series.newest_s(math.inf), self._newest_s.get(key.pod, -math.inf))

    def buckets(self, signals: Sequence[Signal], start_s: int, end_s: int) -> dict[Signal, Floats]:
        """Return by signal what the buckets in [start_s, end_s) hold over all pods, NaN where unknown.

        Counts are summed; a ratio is that of the fullest pod. While a pod lives, a bucket that it says
        nothing about is unknown for the workload: half a fleet's readings are no reading. In the buckets of
        its birth and death a pod adds what it says.
        """
        return {signal: self._over_pods(signal, start_s, end_s) for signal in signals}

    def now(self, signals: Sequence[Signal], at_s: float) -> dict[str, dict[Signal, Sample]]:
        """Return by pod the newest readings at `at_s`: increase over the last minute, or newest value."""
        pods = {}
        for pod, by_signal in self._pods.items():
            if self._newest_s[pod] >= at_s - STALE_S:
                samples = {signal: _newest(signal, by_signal.get(signal, ()), at_s) for signal in signals}
                if any(type(sample) is Value for sample in samples.values()):
                    pods[pod] = samples
        return pods

    def _register(self, key: SeriesKey) -> Series | None:
        if key.series not in self._signals:
            return None
        signal, rank = self._signals[key.series]
        ranks = self._pods.setdefault(key.pod, {}).setdefault(
            signal, [[] for _ in self._engine.series[signal]]
        )
        series = Series(is_counter=signal.is_counter)
        ranks[rank].append(series)
        self._series[key] = series
        self._newest_s.setdefault(key.pod, -math.inf)
        return series

    def _over_pods(self, signal: Signal, start_s: int, end_s: int) -> Floats:
        combine: Callable[[Floats, Floats], Floats] = np.fmax if signal is Signal.KV_USE else _add_known
        edges = np.arange(start_s, end_s + 1, BUCKET_S)
        total = np.full(len(edges) - 1, np.nan)
        is_missing = np.zeros(len(edges) - 1, dtype=np.bool_)
        for by_signal in self._pods.values():
            ranks = by_signal.get(signal, ())
            members = [series for named in ranks for series in named]
            born_s = min((series.first_s for series in members), default=math.inf)
            died_s = max((series.newest_s(end_s) for series in members), default=-math.inf)
            if born_s >= end_s or died_s <= start_s:
                continue
            pod = _of_pod(ranks, combine, start_s, end_s)
            is_missing |= np.isnan(pod) & (edges[:-1] >= born_s) & (edges[1:] <= died_s)
            total = combine(total, pod)
        return np.where(is_missing, np.nan, total)


def _add_known(a: Floats, b: Floats) -> Floats:
    """Sum where both are known, the known one where only one is."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, a + b))


def _of_pod(
    ranks: Sequence[Sequence[Series]], combine: Callable[[Floats, Floats], Floats], start_s: int, end_s: int
) -> Floats:
    """Combine the label sets of one name; where the newest name says nothing the next older one is read."""
    names = [reduce(combine, [one.buckets(start_s, end_s) for one in named]) for named in ranks if named]
    return reduce(lambda newer, older: np.where(np.isnan(newer), older, newer), names)


def _newest(signal: Signal, ranks: Sequence[Sequence[Series]], at_s: float) -> Sample:
    """Read the newest name that is known; label sets that say nothing are left out unless all do."""
    sample: Sample = Unknown(Reason.ABSENT)
    for named in ranks:
        known = []
        for series in named:
            sample = series.increase(at_s) if series.is_counter else series.last(at_s)
            if type(sample) is Value:
                known.append(sample.value)
        if known:
            return Value(max(known) if signal is Signal.KV_USE else sum(known))
    return sample
