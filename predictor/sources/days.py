"""Minute buckets on disk, one Parquet file for each day of UTC: a cache that may vanish at any time."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
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

    def read(self, day_s: int) -> Day:
        """Return what is kept of the day that starts at `day_s`.

        Nothing where there is no file, or one that is damaged, of another format or of other columns.
        """
        try:
            table = parquet.read_table(self._path(day_s), page_checksum_verification=True)
            about = json.loads((table.schema.metadata or {})[_ABOUT])
            origins = about["origins"] if about["format"] == _FORMAT else {}
            names = table[_WORKLOAD].combine_chunks()
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
            if name in self._keys and origins.get(name) == self._origins[name]:
                workload, at = self._keys[name], minutes[rows]
                day.is_kept(workload)[at] = True
                for signal, column in columns.items():
                    day.row(workload, signal)[at] = column[rows]
        return day

    def write(self, day_s: int, day: Day) -> None:
        """Replace the file of a day, which is there entirely or not at all; `OSError` if it cannot be."""
        workloads = day.workloads()
        at: list[Minutes] = [np.flatnonzero(day.is_kept(workload)) for workload in workloads]
        codes = np.repeat(np.arange(len(workloads), dtype=np.int32), [len(minutes) for minutes in at])
        times = np.concatenate([*at, np.empty(0, dtype=np.int64)]) * BUCKET_S + day_s
        names = pa.DictionaryArray.from_arrays(codes, [str(workload) for workload in workloads])
        columns = {
            _WORKLOAD: names,
            _TIME: pa.array(times.astype("datetime64[s]"), _SECONDS),
            **{signal.value: _column(signal, day, workloads, at) for signal in self._signals},
        }
        about = {"format": _FORMAT, "origins": {str(w): self._origins[str(w)] for w in workloads}}
        table = pa.table(columns).replace_schema_metadata({_ABOUT: json.dumps(about)})
        path = self._path(day_s)
        part = path.with_suffix(f".{os.getpid()}-{get_ident()}")
        try:
            with part.open("wb") as file:
                parquet.write_table(table, file, compression="zstd", write_page_checksum=True)
            part.replace(path)
        except OSError:
            with suppress(OSError):
                part.unlink()
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


def _column(signal: Signal, day: Day, workloads: Sequence[WorkloadKey], at: Sequence[Minutes]) -> pa.Array:
    rows = [day.row(workload, signal)[minutes] for workload, minutes in zip(workloads, at, strict=True)]
    return pa.array(np.concatenate([*rows, np.empty(0)]), pa.float64(), from_pandas=True)
