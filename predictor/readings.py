"""Raw readings of a workload's pods, and the signals they amount to: shared by every source that scrapes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from fleet.sample import Reason, Sample, Unknown, Value
from fleet.signal import Signal
from predictor.engines import Engine
from predictor.ports import BUCKET_S, Floats
from predictor.series import ABSENT, STALE_S, Series
from predictor.vocabulary import Vocabulary, any_engine

_NOT_EXPORTED = Unknown(Reason.NOT_EXPORTED)

Identity = tuple[tuple[str, str], ...]
"""Labels that tell one part of a signal from another, in order."""


class SeriesKey(NamedTuple):
    """Names one raw series of a workload.

    Attributes:
        pod: Name of the pod that exports it.
        series: The engine's own name for it.
        labels: What else tells it apart, e.g. `(("finished_reason", "stop"),)`.
        scraper: Who scraped it, where several do: one is read where those before it say nothing.
    """

    pod: str
    series: str
    labels: Identity = ()
    scraper: int = 0


class _Scaled(NamedTuple):
    """A raw series and what its readings are multiplied with."""

    series: Series
    scale: float


_Ways = tuple[tuple[Signal, Callable[[float], Sample]], ...]
"""Signals, and how the newest reading of each is read."""


class _Pod:
    """What one pod exports.

    Of each signal the parts under one name of one scraper are added up; names and scrapers that come later
    are read where those before say nothing, and so are the copies of a part.
    """

    def __init__(self) -> None:
        self.newest_s = -math.inf
        self._exported: frozenset[Signal] = frozenset()
        # What most pods export of a signal: one series, read as it is.
        self._only: dict[Signal, Series] = {}
        self._names: dict[Signal, dict[tuple[int, int], dict[Identity, list[Series]]]] = {}
        # By what is asked for: what does not change from one moment to the next, and how the rest is read.
        self._asked: dict[tuple[Signal, ...], tuple[dict[Signal, Sample], _Ways]] = {}

    def add(
        self, engine: Engine, signal: Signal, place: tuple[int, int], part: Identity, series: Series
    ) -> None:
        """Take in a series of an engine; `place` is its scraper and the rank of its name."""
        self._exported |= engine.signals
        names = self._names.setdefault(signal, {})
        names.setdefault(place, {}).setdefault(part, []).append(series)
        self._names[signal] = dict(sorted(names.items()))
        members = list(self._members(signal))
        self._only.pop(signal, None)
        if len(members) == 1:
            self._only[signal] = series
        self._asked.clear()

    def newest(self, signals: tuple[Signal, ...], at_s: float) -> dict[Signal, Sample]:
        """Return the newest readings of signals at `at_s`; what its engine never exports is told apart."""
        if signals not in self._asked:
            ways = {signal: way for signal in signals if (way := self._way(signal)) is not None}
            unread: dict[Signal, Sample] = {
                signal: ABSENT if signal in self._exported else _NOT_EXPORTED for signal in signals
            }
            self._asked[signals] = unread, tuple(ways.items())
        fixed, how = self._asked[signals]
        samples = fixed.copy()
        for signal, read in how:
            samples[signal] = read(at_s)
        return samples

    def _way(self, signal: Signal) -> Callable[[float], Sample] | None:
        """Return how a signal is read, `None` where nothing was read of it."""
        only = self._only.get(signal)
        if only is not None:
            return only.newest
        if signal in self._names:
            return partial(self._read, signal)
        if signal is Signal.KV_USE and {Signal.KV_USED, Signal.KV_ROOM} <= self._names.keys():
            return lambda at_s: _share(self._read(Signal.KV_USED, at_s), self._read(Signal.KV_ROOM, at_s))
        return None

    def buckets(self, signal: Signal, start_s: int, end_s: int) -> Floats:
        """Return what the buckets in [start_s, end_s) hold, NaN where unknown."""
        if signal is Signal.KV_USE and signal not in self._names:
            used, room = (self.buckets(part, start_s, end_s) for part in (Signal.KV_USED, Signal.KV_ROOM))
            return np.divide(used, room, out=np.full_like(used, np.nan), where=room > 0)
        combine = _combination(signal)
        names = [
            reduce(combine, [_first_known(copies, start_s, end_s) for copies in parts.values()])
            for parts in self._names.get(signal, {}).values()
        ]
        unread = np.full((end_s - start_s) // BUCKET_S, np.nan)
        return reduce(lambda newer, older: np.where(np.isnan(newer), older, newer), names, unread)

    def minute(self, signal: Signal, start_s: int) -> float:
        """Return what the bucket from `start_s` holds, NaN where unknown: as `buckets`, but one number."""
        if signal is Signal.KV_USE and signal not in self._names:
            used, room = (self.minute(part, start_s) for part in (Signal.KV_USED, Signal.KV_ROOM))
            return used / room if room > 0 else math.nan
        combine = _larger if signal.is_ratio else _sum
        names = (
            reduce(combine, [_first([one.minute(start_s) for one in copies]) for copies in parts.values()])
            for parts in self._names.get(signal, {}).values()
        )
        return _first(names)

    def life(self, signal: Signal, end_s: float) -> tuple[float, float]:
        """Return the times of the first and the last reading of a signal up to `end_s`."""
        if signal is Signal.KV_USE and signal not in self._names:
            signal = Signal.KV_USED
        members = list(self._members(signal))
        return (
            min((series.first_s for series in members), default=math.inf),
            max((series.newest_s(end_s) for series in members), default=-math.inf),
        )

    def _members(self, signal: Signal) -> Iterator[Series]:
        for parts in self._names.get(signal, {}).values():
            for copies in parts.values():
                yield from copies

    def _read(self, signal: Signal, at_s: float) -> Sample:
        """Read the newest name that is known; parts that say nothing are left out unless all do."""
        sample: Sample = ABSENT
        for parts in self._names[signal].values():
            known = []
            for copies in parts.values():
                for series in copies:
                    sample = series.newest(at_s)
                    if type(sample) is Value:
                        known.append(sample.value)
                        break
            if known:
                return Value(max(known) if signal.is_ratio else sum(known))
        return sample


class SeriesStore:
    """Everything that was scraped from the pods of one workload.

    A pod that is gone keeps its past for `buckets` and is absent from `now` once it has been silent for
    `STALE_S`; whether it ought to be there is the caller's to know.

    Args:
        vocabulary: Engines that the pods may run; default: any that is shipped.
    """

    def __init__(self, vocabulary: Vocabulary | None = None) -> None:
        self._vocabulary = vocabulary or any_engine()
        self._series: dict[SeriesKey, _Scaled] = {}
        self._pods: dict[str, _Pod] = {}

    def append(self, key: SeriesKey, t_s: float, value: float) -> None:
        """Add one reading; one of a series that carries no signal is dropped.

        Raises:
            ValueError: The reading is not newer than the last one of its series.
        """
        known = self._series.get(key) or self._register(key)
        if known is not None:
            known.series.append(t_s, value * known.scale)
            self._pods[key.pod].newest_s = t_s

    def extend(self, key: SeriesKey, times: ArrayLike, values: ArrayLike) -> None:
        """Add many readings of one series at once; times must rise."""
        known = self._series.get(key) or self._register(key)
        if known is not None:
            known.series.extend(times, np.asarray(values, dtype=np.float64) * known.scale)
            pod = self._pods[key.pod]
            pod.newest_s = max(known.series.newest_s(math.inf), pod.newest_s)

    def buckets(self, signals: Sequence[Signal], start_s: int, end_s: int) -> dict[Signal, Floats]:
        """Return by signal what the buckets in [start_s, end_s) hold over all pods, NaN where unknown.

        Counts are summed; a ratio is that of the fullest pod. While a pod lives, a bucket that it says
        nothing about is unknown for the workload: half a fleet's readings are no reading. In the buckets of
        its birth and death a pod adds what it says.
        """
        if end_s - start_s == BUCKET_S:
            return {signal: np.array([self._minute(signal, start_s)]) for signal in signals}
        return {signal: self._over_pods(signal, start_s, end_s) for signal in signals}

    def now(self, signals: Sequence[Signal], at_s: float) -> dict[str, dict[Signal, Sample]]:
        """Return by pod the newest readings at `at_s`: increase over the last minute, or newest value."""
        pods, asked = {}, tuple(signals)
        for name, pod in self._pods.items():
            if pod.newest_s >= at_s - STALE_S:
                samples = pod.newest(asked, at_s)
                if any(type(sample) is Value for sample in samples.values()):
                    pods[name] = samples
        return pods

    def settle(self, until_s: float, before_s: float) -> None:
        """Keep of what was read up to a time what buckets are made of, and nothing from before another.

        From then on `now` is not to be asked for a time before the first, nor `buckets` for one before the
        second.
        """
        for known in self._series.values():
            known.series.settle(until_s)
            known.series.forget(before_s)
        self._pods = {name: pod for name, pod in self._pods.items() if pod.newest_s >= before_s}
        self._series = {key: known for key, known in self._series.items() if key.pod in self._pods}

    def _register(self, key: SeriesKey) -> _Scaled | None:
        meaning = self._vocabulary.meaning(key.series, dict(key.labels))
        if meaning is None:
            return None
        series = Series(is_counter=meaning.signal.is_counter)
        copies = meaning.engine.labels.copies
        part = tuple(label for label in key.labels if label[0] not in copies)
        pod = self._pods.setdefault(key.pod, _Pod())
        pod.add(meaning.engine, meaning.signal, (key.scraper, meaning.rank), part, series)
        scaled = _Scaled(series, meaning.scale)
        self._series[key] = scaled
        return scaled

    def _over_pods(self, signal: Signal, start_s: int, end_s: int) -> Floats:
        combine = _combination(signal)
        edges = np.arange(start_s, end_s + 1, BUCKET_S)
        total = np.full(len(edges) - 1, np.nan)
        is_missing = np.zeros(len(edges) - 1, dtype=np.bool_)
        for pod in self._pods.values():
            born_s, died_s = pod.life(signal, end_s)
            if born_s >= end_s or died_s <= start_s:
                continue
            told = pod.buckets(signal, start_s, end_s)
            is_missing |= np.isnan(told) & (edges[:-1] >= born_s) & (edges[1:] <= died_s)
            total = combine(total, told)
        return np.where(is_missing, np.nan, total)

    def _minute(self, signal: Signal, start_s: int) -> float:
        """Return the one bucket from `start_s`, as `_over_pods` would: arrays of one cost far more."""
        end_s, total = start_s + BUCKET_S, math.nan
        combine = _larger if signal.is_ratio else _sum
        for pod in self._pods.values():
            born_s, died_s = pod.life(signal, end_s)
            if born_s >= end_s or died_s <= start_s:
                continue
            told = pod.minute(signal, start_s)
            if math.isnan(told) and start_s >= born_s and end_s <= died_s:
                return math.nan
            total = combine(total, told)
        return total


def _first(numbers: Iterable[float]) -> float:
    """Return the first that is known."""
    return next((number for number in numbers if not math.isnan(number)), math.nan)


def _sum(a: float, b: float) -> float:
    """Sum where both are known, the known one where only one is."""
    return b if math.isnan(a) else a if math.isnan(b) else a + b


def _larger(a: float, b: float) -> float:
    """Return the larger where both are known, the known one where only one is."""
    return b if math.isnan(a) else a if math.isnan(b) else max(a, b)


def _combination(signal: Signal) -> Callable[[Floats, Floats], Floats]:
    return np.fmax if signal.is_ratio else _add_known


def _add_known(a: Floats, b: Floats) -> Floats:
    """Sum where both are known, the known one where only one is."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, a + b))


def _first_known(copies: Sequence[Series], start_s: int, end_s: int) -> Floats:
    told = [series.buckets(start_s, end_s) for series in copies]
    return reduce(lambda first, other: np.where(np.isnan(first), other, first), told)


def _share(used: Sample, room: Sample) -> Sample:
    """Return how much of the room is used; without room nobody knows."""
    match used, room:
        case Value(some), Value(most):
            return Value(some / most) if most > 0 else Unknown(Reason.NOT_A_NUMBER)
        case Value(), unknown:
            return unknown
    return used
