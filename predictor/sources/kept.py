"""A metrics source that keeps its past on a scratch folder: a restart asks for the newest minutes only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fleet.errors import InputError
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.ports import BUCKET_S, Floats, InstantSamples, MetricsSource, SignalBuckets
from predictor.sources.days import Day, DayFiles, Minutes, days
from predictor.steps import DAY_S

SETTLED_S = 600
"""A bucket is kept once it is this old. Read as it closes it does not know of a pod that is silent and will
be back, nor of readings that come late; read again by then, it says what it will say for ever."""

KEPT_EVERY_S = 600
"""How often what has settled is read again and kept."""

_APART = 3600 // BUCKET_S
"""Gaps closer together than this are asked for at once: a query looks back as far anyhow."""

Span = tuple[int, int]
"""From and to, seconds since the epoch."""


class KeptSource:
    """Implements `predictor.ports.MetricsSource` on another one, of which it keeps what has settled.

    What is kept is a cache: days that are missing, damaged, of another format or of another origin are
    asked for again. Buckets of which the source said that it may not have all are not kept either.

    Attributes:
        trouble: Why the past is not kept, empty while it is. It is answered all the same.

    Args:
        source: Where everything comes from.
        folder: Scratch folder; made if it is not there.
        origins: By workload: where its buckets come from, in any words.
        signals: Signals that are kept; others are asked for each time.
        keep_s: How far back days are kept.

    Raises:
        InputError: The folder cannot be made.
    """

    def __init__(
        self,
        source: MetricsSource,
        folder: Path,
        origins: Mapping[WorkloadKey, str],
        signals: Sequence[Signal],
        keep_s: float,
    ) -> None:
        self._source = source
        self._folder = folder
        self._signals = tuple(signals)
        self._keep_s = keep_s
        self._kept_until_s: int | None = None
        self.trouble = ""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot be made ({error.strerror})", where=str(folder), fix="name a writable folder"
            ) from error
        self._files = DayFiles(folder, origins, signals)

    def samples(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], start_s: int, end_s: int
    ) -> Mapping[WorkloadKey, SignalBuckets]:
        """Return closed minute buckets in [start_s, end_s), see `MetricsSource.samples`."""
        is_kept = set(signals) <= set(self._signals) and end_s > start_s
        from_s, settled_s = self._from_s(start_s, end_s), end_s - SETTLED_S
        if not is_kept or from_s is None:
            return self._source.samples(signals, workloads, start_s, end_s)
        past = _Past({day_s: self._files.read(day_s, workloads) for day_s in days(from_s, end_s)})
        partial_s: dict[WorkloadKey, tuple[Span, ...]] = {}
        changed: set[int] = set()
        for span, keys in past.missing(workloads, from_s, end_s).items():
            for workload, told in self._source.samples(self._signals, keys, *span).items():
                changed |= past.fill(told, settled_s)
                partial_s[workload] = partial_s.get(workload, ()) + told.partial_s
        self._keep({day_s: past.days[day_s] for day_s in sorted(changed)}, workloads, end_s)
        if self._kept_until_s is None or from_s <= self._kept_until_s < settled_s:
            self._kept_until_s = settled_s
        return {
            workload: SignalBuckets(
                workload,
                start_s,
                {signal: past.row(workload, signal, start_s, end_s) for signal in signals},
                partial_s.get(workload, ()),
            )
            for workload in workloads
        }

    def now(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], at_s: float
    ) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest readings as of `at_s`, see `MetricsSource.now`."""
        return self._source.now(signals, workloads, at_s)

    def _from_s(self, start_s: int, end_s: int) -> int | None:
        """Return where to begin, `None` where nothing is kept from there on yet.

        When it is due, what has settled meanwhile is read along.
        """
        kept_s = self._kept_until_s
        if kept_s is None or start_s < kept_s:
            return start_s
        return kept_s if end_s - SETTLED_S - kept_s >= KEPT_EVERY_S else None

    def _keep(self, changed: Mapping[int, Day], of: Sequence[WorkloadKey], end_s: int) -> None:
        """Write changed days of workloads and forget old ones; what cannot be written costs no answer."""
        try:
            for day_s, day in changed.items():
                self._files.write(day_s, day, of)
            self._files.forget(end_s - self._keep_s)
        except OSError as error:
            self.trouble = f"history is not kept in {self._folder}: {error.strerror or error}"
        else:
            self.trouble = ""


class _Past:
    """Consecutive days, as one row of minutes for each workload and signal."""

    def __init__(self, days: dict[int, Day]) -> None:
        self.days = days
        self._first_s = min(days)

    def missing(
        self, workloads: Sequence[WorkloadKey], start_s: int, end_s: int
    ) -> dict[Span, list[WorkloadKey]]:
        """Return the spans in which something is not kept, with the workloads that miss it."""
        spans: dict[Span, list[WorkloadKey]] = {}
        part = self._part(start_s, end_s)
        for workload in workloads:
            is_kept = np.concatenate([day.is_kept(workload) for day in self.days.values()])[part]
            for first, last in _runs(np.flatnonzero(~is_kept)):
                span = start_s + BUCKET_S * first, start_s + BUCKET_S * (last + 1)
                spans.setdefault(span, []).append(workload)
        return spans

    def fill(self, told: SignalBuckets, settled_s: int) -> set[int]:
        """Take what the source told, keep what has settled, and return the days of which that changes any."""
        changed = set()
        for day_s, day in self.days.items():
            from_s, to_s = max(day_s, told.start_s), min(day_s + DAY_S, told.end_s)
            if from_s >= to_s:
                continue
            minutes = slice((from_s - day_s) // BUCKET_S, (to_s - day_s) // BUCKET_S)
            part = slice((from_s - told.start_s) // BUCKET_S, (to_s - told.start_s) // BUCKET_S)
            kept = day.is_kept(told.workload)[minutes]
            is_new = ~kept
            for signal, row in told.values.items():
                day.row(told.workload, signal)[minutes][is_new] = row[part][is_new]
            times = np.arange(from_s, to_s, BUCKET_S)
            is_new &= times + BUCKET_S <= settled_s
            for since_s, until_s in told.partial_s:
                is_new &= (times < since_s) | (times >= until_s)
            kept |= is_new
            if is_new.any():
                changed.add(day_s)
        return changed

    def row(self, workload: WorkloadKey, signal: Signal, start_s: int, end_s: int) -> Floats:
        """Return the buckets of a workload's signal in [start_s, end_s)."""
        rows = [day.row(workload, signal) for day in self.days.values()]
        return np.concatenate(rows)[self._part(start_s, end_s)]

    def _part(self, start_s: int, end_s: int) -> slice:
        return slice((start_s - self._first_s) // BUCKET_S, (end_s - self._first_s) // BUCKET_S)


def _runs(minutes: Minutes) -> Iterator[tuple[int, int]]:
    """Yield the first and last minute of each run; short pauses between runs are part of them."""
    if minutes.size:
        at = np.flatnonzero(np.diff(minutes) > _APART)
        yield from zip(
            minutes[np.append(0, at + 1)].tolist(), minutes[np.append(at, -1)].tolist(), strict=True
        )
