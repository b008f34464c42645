"""Minute buckets on disk, one Parquet file for each day of UTC: a cache that may vanish at any time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import get_ident

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.ports import BUCKET_S, Bools, Floats
from predictor.steps import DAY_S

MINUTES = DAY_S // BUCKET_S

Minutes = NDArray[np.int64]

_FORMAT = 1
"""Goes up with any change of what a file holds: files of another format are read from the source again."""

_GROUP = 25
"""Workloads of a row group: what is read of a day at least."""

_ABOUT = b"foreslice"
_OURS = re.compile(r"(\d{4}-\d\d-\d\d)\.(parquet|\d+-\d+)")  # numbers: who ended while it wrote
_WORKLOAD, _TIME = "workload", "time"
_SECONDS = pa.timestamp("s", tz="UTC")


class Day:
    """The minutes of one day: what they hold by workload and signal, and which of them are kept.

    What is not kept is NaN or of this process alone; what is kept may be NaN too, of something unknown.
    """

    def __init__(self) -> None:
        self._values: dict[WorkloadKey, dict[Signal, Floats]] = {}
        self._is_kept: dict[WorkloadKey, Bools] = {}

    def workloads(self) -> list[WorkloadKey]:
        """Return the workloads of which something is kept, sorted."""
        return sorted(workload for workload, is_kept in self._is_kept.items() if is_kept.any())

    def is_kept(self, workload: WorkloadKey) -> Bools:
        """Return by minute whether its bucket is kept."""
        return self._is_kept.setdefault(workload, np.zeros(MINUTES, dtype=np.bool_))

    def row(self, workload: WorkloadKey, signal: Signal) -> Floats:
        """Return the buckets of a signal, which may be written to."""
        rows = self._values.setdefault(workload, {})
        return rows.setdefault(signal, np.full(MINUTES, np.nan))


class DayFiles:
    """Files named after their day, such as `2026-03-01.parquet`, with a row per workload and minute.

    Args:
        folder: Where they are.
        origins: By workload: where its buckets come from, in any words; rows of another origin are not read.
        signals: Which signals they hold, one column each.
    """

    def __init__(self, folder: Path, origins: Mapping[WorkloadKey, str], signals: Sequence[Signal]) -> None:
        self._folder = folder
        self._origins = {str(workload): origin for workload, origin in origins.items()}
        self._keys = {str(workload): workload for workload in origins}
        self._signals = tuple(signals)

    def read(self, day_s: int, workloads: Iterable[WorkloadKey]) -> Day:
        """Return what is kept of workloads of the day that starts at `day_s`; others are passed over.

        Nothing where there is no file, or one that is damaged, of another format or of other columns.
        """
        wanted = {str(workload) for workload in workloads}
        try:
            table, origins = self._table(day_s, wanted)
            names = table[_WORKLOAD].unify_dictionaries().combine_chunks()
            minutes = (table[_TIME].cast(_SECONDS).cast(pa.int64()).to_numpy() - day_s) // BUCKET_S
            columns = {signal: table[signal.value].to_numpy() for signal in self._signals}
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
            return Day()
        day = Day()
        if ((minutes < 0) | (minutes >= MINUTES)).any():  # of another day
            return day
        codes, known = names.indices.to_numpy(), names.dictionary.to_pylist()
        order = np.argsort(codes, kind="stable")
        ends = np.searchsorted(codes[order], np.arange(len(known)), side="right")
        for name, rows in zip(known, np.split(order, ends)[:-1], strict=True):
            if name in wanted and name in self._keys and origins.get(name) == self._origins[name]:
                workload, at = self._keys[name], minutes[rows]
                day.is_kept(workload)[at] = True
                for signal, column in columns.items():
                    day.row(workload, signal)[at] = column[rows]
        return day

    def _table(self, day_s: int, names: set[str]) -> tuple[pa.Table, dict[str, str]]:
        """Return the row groups in which some of these workloads are, and the origins of all of the day."""
        with parquet.ParquetFile(self._path(day_s), page_checksum_verification=True) as file:
            about = json.loads((file.schema_arrow.metadata or {})[_ABOUT])
            origins: dict[str, str] = about["origins"] if about["format"] == _FORMAT else {}
            held = about.get("groups", [])
            if len(held) != file.num_row_groups:  # of a version that made none, or of somebody else
                held = [list(origins)] * file.num_row_groups
            return file.read_row_groups([n for n, of in enumerate(held) if not names.isdisjoint(of)]), origins

    def write(self, day_s: int, day: Day, of: Iterable[WorkloadKey]) -> None:
        """Replace what the file of a day has of some workloads; `OSError` if it cannot be.

        The file is there entirely or not at all. What it has of others, if that can be used, stays.
        """
        written = set(of)
        rest = self.read(day_s, set(self._keys.values()) - written)
        kept = {workload: day for workload in day.workloads() if workload in written}
        kept |= dict.fromkeys(rest.workloads(), rest)
        workloads = sorted(kept)
        at: list[Minutes] = [np.flatnonzero(kept[workload].is_kept(workload)) for workload in workloads]
        codes = np.repeat(np.arange(len(workloads), dtype=np.int32), [len(minutes) for minutes in at])
        times = np.concatenate([*at, np.empty(0, dtype=np.int64)]) * BUCKET_S + day_s
        names = pa.DictionaryArray.from_arrays(codes, [str(workload) for workload in workloads])
        columns = {
            _WORKLOAD: names,
            _TIME: pa.array(times.astype("datetime64[s]"), _SECONDS),
            **{signal.value: _column(signal, kept, at) for signal in self._signals},
        }
        parts = [slice(first, first + _GROUP) for first in range(0, len(workloads), _GROUP)]
        about = {
            "format": _FORMAT,
            "origins": {str(w): self._origins[str(w)] for w in workloads},
            "groups": [[str(w) for w in workloads[part]] for part in parts],
        }
        table = pa.table(columns).replace_schema_metadata({_ABOUT: json.dumps(about)})
        path = self._path(day_s)
        draft = path.with_suffix(f".{os.getpid()}-{get_ident()}")
        try:
            with (
                draft.open("wb") as file,
                parquet.ParquetWriter(
                    file, table.schema, compression="zstd", write_page_checksum=True
                ) as writer,
            ):
                first = 0
                for part in parts:
                    rows = sum(len(minutes) for minutes in at[part])
                    writer.write_table(table.slice(first, rows), row_group_size=rows)
                    first += rows
            draft.replace(path)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise

    def forget(self, before_s: float) -> None:
        """Delete the files of days that end before a time."""
        last = datetime.fromtimestamp(before_s, UTC).date() - timedelta(days=1)
        for path in self._folder.iterdir():
            match = _OURS.fullmatch(path.name)
            if match and match[1] <= last.isoformat():
                path.unlink(missing_ok=True)

    def _path(self, day_s: int) -> Path:
        return self._folder / f"{datetime.fromtimestamp(day_s, UTC).date()}.parquet"


def days(start_s: int, end_s: int) -> range:
    """Return the starts of the days that [start_s, end_s) touches."""
    return range(start_s // DAY_S * DAY_S, end_s, DAY_S)


def _column(signal: Signal, kept: Mapping[WorkloadKey, Day], at: Sequence[Minutes]) -> pa.Array:
    rows = [kept[key].row(key, signal)[minutes] for key, minutes in zip(sorted(kept), at, strict=True)]
    return pa.array(np.concatenate([*rows, np.empty(0)]), pa.float64(), from_pandas=True)
