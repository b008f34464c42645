"""Signals from a tidy CSV of raw scraped series: what happened elsewhere, read as if it were live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from fleet.errors import InputError, UnavailableError
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.ports import InstantSamples, SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from predictor.sources.matching import LabelValues, Match, Selection, few, match_of, shown
from predictor.sources.table import read_table
from predictor.vocabulary import Vocabulary


class FileSource:
    """Implements `predictor.ports.MetricsSource` on a CSV file; read again when it has changed.

    Columns are `timestamp` (ISO 8601, or seconds since the epoch), `series` (the engine's own name), `pod`,
    `namespace` and `value`; any other column is a label of the series.

    Args:
        path: The file.
        matches: By workload: how its rows are known; labels (columns) alone stand for any engine, no router.

    Raises:
        InputError: The file cannot be read or used as it is, or holds no row of a workload.
    """

    def __init__(self, path: Path, matches: Mapping[WorkloadKey, LabelValues | Match]) -> None:
        self._path = path
        self._matches = {workload: match_of(labels) for workload, labels in matches.items()}
        self._version = self._seen()
        self._load()

    @property
    def end_s(self) -> float:
        """Time of the newest reading, seconds since the epoch: now, to a service that reads a file."""
        return self._end_s

    def samples(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], start_s: int, end_s: int
    ) -> Mapping[WorkloadKey, SignalBuckets]:
        """Return closed minute buckets in [start_s, end_s), see `MetricsSource.samples`."""
        self._refresh()
        return {
            workload: SignalBuckets(
                workload, start_s, self._stores[workload].buckets(signals, start_s, end_s)
            )
            for workload in workloads
        }

    def now(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], at_s: float
    ) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest readings as of `at_s`, see `MetricsSource.now`."""
        self._refresh()
        return {
            workload: InstantSamples(workload, at_s, self._stores[workload].now(signals, at_s))
            for workload in workloads
        }

    def _seen(self) -> tuple[int, int]:
        try:
            status = self._path.stat()
        except OSError as error:
            raise InputError(
                f"cannot be read ({error.strerror})",
                where=str(self._path),
                fix="give the path of a CSV of scraped series",
            ) from error
        return status.st_mtime_ns, status.st_size

    def _refresh(self) -> None:
        """Read a changed file; one that was good and is not any more did not answer."""
        try:
            version = self._seen()
            if version != self._version:
                self._load()
                self._version = version
        except InputError as error:
            raise UnavailableError(str(error)) from error

    def _load(self) -> None:
        table = read_table(self._path)
        stores = {
            workload: _store(
                [_rows_of(workload, part, table, self._path) for part in match.parts()], match.vocabulary()
            )
            for workload, match in self._matches.items()
        }
        self._stores, self._end_s = stores, float(table["timestamp"].max())


def _store(parts: Sequence[pd.DataFrame], vocabulary: Vocabulary) -> SeriesStore:
    """Sort the rows into series; of two readings at one time the later row counts."""
    store = SeriesStore(vocabulary)
    rows = pd.concat(parts) if len(parts) > 1 else parts[0]
    labels = [name for name in rows.columns if name not in {"timestamp", "value", "pod", "series"}]
    for (pod, series, *values), group in rows.groupby(["pod", "series", *labels], observed=True, sort=False):
        times, readings = group["timestamp"].to_numpy(), group["value"].to_numpy()
        order = np.argsort(times, kind="stable")
        order = order[np.append(np.diff(times[order]) > 0, True)]
        identity = tuple((label, str(value)) for label, value in zip(labels, values, strict=True))
        store.extend(SeriesKey(str(pod), str(series), identity), times[order], readings[order])
    return store


def _rows_of(workload: WorkloadKey, part: Selection, table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return the rows of a workload that are read; an `InputError` says what was sought and what there is."""
    labels = part.labels
    is_row = np.ones(len(table), dtype=np.bool_)
    for label in labels:
        if label not in table.columns:
            raise InputError(
                f"no column holds label {label!r} of workload {workload}",
                where=str(path),
                fix=f"match one of its columns: {', '.join(table.columns)}",
            )
        is_row &= table[label].isin(part.spellings(label)).to_numpy()
    if is_row.any():
        return table[is_row & table["series"].isin(part.vocabulary.names(Signal)).to_numpy()]
    wanted = shown(labels)
    there = "; ".join(f"{label}: {few(list(table[label].cat.categories))}" for label in labels)
    raise InputError(
        f"no row of workload {workload} ({wanted})", where=str(path), fix=f"the file has {there}"
    )
