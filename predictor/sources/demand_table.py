"""A tidy table of demand, a row a series and step, as regular series, or a line of what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import pandas as pd
import pyarrow as pa

from fleet.errors import InputError
from predictor.ports import Bools, Floats
from predictor.sources.times import seconds_of
from predictor.steps import DAY_S, StepSeries

ONLY = "all"
"""Name of the series of a table that holds one."""

OFF_GRID = 0.1
"""A time further than this share of a step from the grid of its series is not on it."""

TOLERATED = 0.01
"""Share of rows that may be off the grid or there twice (a change of the clock, a late collector)."""

PARTIAL = 0.1
"""The first steps after a gap that hold less than this share of the day before were collected in part."""

PARTIAL_S = 3600
"""For how long after a gap they may be."""

SPREAD = 100
"""Steps a row from which times are taken for wrong: one of them is years from the others."""

MOST = 1e30
"""Value above which a number is none of demand: what is learnt from is kept in single precision."""

UNNAMED = "unnamed"
"""Name of the series of rows that say none."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of the columns that hold the time, the name of the series (empty = one series) and the value."""

    time: str
    by: str
    value: str


@dataclass(frozen=True, slots=True)
class TidySeries:
    """One series of a table.

    Attributes:
        name: As the table has it.
        series: What it holds.
        is_masked: Steps whose value was taken for one collected in part, and so for unknown.
    """

    name: str
    series: StepSeries
    is_masked: Bools


def read_tidy(path: Path, columns: Columns) -> list[TidySeries]:
    """Return the series of a CSV (`.gz` too) or Parquet file, in the order in which they appear.

    Times are seconds since the epoch (or since anything else), milli-, micro- or nanoseconds since the epoch,
    or timestamps; without a zone they are UTC.
    The step of a series is the median distance of its times. A time without a row, an empty value or NaN
    is unknown, never zero. Values are demand: negative ones are refused.

    Raises:
        InputError: Not readable, a column missing, a time or value malformed, several rows a time, or times
            without a step.
    """
    return tidy(_read(path, columns), columns, path)


def tidy(table: pd.DataFrame, columns: Columns, path: Path) -> list[TidySeries]:
    """Return the series of a table that was read from `path`, likewise."""
    return [_series(name, rows, path) for name, rows in _split(table, columns, path)]


def tidy_or_why_not(path: Path, columns: Columns) -> Iterator[tuple[str, TidySeries | InputError]]:
    """Yield each name in a file with its series, or with what is wrong with that one; else as `read_tidy`."""
    for name, rows in _split(_read(path, columns), columns, path):
        try:
            yield name, _series(name, rows, path)
        except InputError as error:
            yield name, error


def _split(table: pd.DataFrame, columns: Columns, path: Path) -> Iterator[tuple[str, pd.DataFrame]]:
    _refuse_missing(table, columns, path)
    if table.empty:
        raise InputError("holds no rows", where=str(path), fix="give a file with demand over time")
    frame = pd.DataFrame(
        {
            "by": table[columns.by].astype("string").fillna(UNNAMED) if columns.by else ONLY,
            "t": seconds_of(table[columns.time], path),
            "value": demand_of(table[columns.value], path),
        }
    )
    yield from ((str(name), rows) for name, rows in frame.groupby("by", sort=False))


def read_table(path: Path) -> pd.DataFrame:
    """Return a CSV or Parquet file with all its columns and at least one row; `InputError` if it is none."""
    table = _read(path, None)
    if table.empty:
        raise InputError("holds no rows", where=str(path), fix="give a file with demand over time")
    return table


def _read(path: Path, columns: Columns | None) -> pd.DataFrame:
    wanted = None if columns is None else {columns.time, columns.by, columns.value}
    fix = "give a tidy CSV (.csv, .csv.gz) or Parquet file"
    try:
        if path.suffix == ".parquet":
            return _parquet(path)
        return pd.read_csv(path, usecols=lambda name: wanted is None or name in wanted, low_memory=False)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror or error})", where=str(path), fix=fix) from error
    except (ValueError, UnicodeDecodeError, EOFError, BadZipFile, pa.ArrowException) as error:
        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"is not such a file ({what})", where=str(path), fix=fix) from error


def _refuse_missing(table: pd.DataFrame, columns: Columns, path: Path) -> None:
    flags = {"--time": columns.time, "--by": columns.by, "--value": columns.value}
    missing = [f"{name!r} ({flag})" for flag, name in flags.items() if name and name not in table.columns]
    if missing:
        raise InputError(
            f"has no column {', '.join(missing)}",
            where=str(path),
            fix=f"there are {', '.join(_all_columns(path))}",
        )


def _all_columns(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return [str(name) for name in _parquet(path).columns]
    return [str(name) for name in pd.read_csv(path, nrows=0).columns]


def _parquet(path: Path) -> pd.DataFrame:
    """Return a Parquet file's columns; those that pandas keeps as its index are columns too."""
    table = pd.read_parquet(path)
    return table if table.index.names == [None] else table.reset_index()


def demand_of(column: pd.Series, path: Path) -> Floats:
    """Return the values of a column, NaN where there is none; `InputError` where one is no demand."""
    numbers = pd.to_numeric(column, errors="coerce")
    values = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    is_bad = (np.isnan(values) & column.notna().to_numpy()) | (values > MOST) | (values < 0)
    is_bad |= pd.api.types.is_datetime64_any_dtype(column)
    if is_bad.any():
        row = int(np.argmax(is_bad))
        raise InputError(
            f"{column.name} {str(column.iloc[row])!r} in row {row + 1} is no demand",
            where=str(path),
            fix="write a number from 0 on, nothing where it is unknown, or name another column",
        )
    return values


def _series(name: str, rows: pd.DataFrame, path: Path) -> TidySeries:
    where = f"{path}, series {name}"
    rows = rows.sort_values("t", kind="stable")
    times, values = rows["t"].to_numpy(), rows["value"].to_numpy()
    is_repeated = np.append(False, np.diff(times) == 0)
    if is_repeated.mean() > TOLERATED:
        raise InputError(
            f"holds {int(is_repeated.sum())} rows with a time that is there already",
            where=where,
            fix="sum them up first, or name the column that tells series apart (--by; `workload` in a trace)",
        )
    times, values = times[~is_repeated], values[~is_repeated]
    step_s = _step(times, where)
    places = (times - times[0]) / step_s
    index = np.round(places).astype(np.int64)
    is_off = np.abs(places - index) > OFF_GRID
    if is_off.mean() > TOLERATED:
        raise InputError(
            f"{is_off.mean():.0%} of its times are not whole steps of {step_s} s apart",
            where=where,
            fix="resample it to equal steps first",
        )
    if index[-1] > SPREAD * len(times):
        raise InputError(
            f"has {len(times)} rows over {index[-1] + 1} steps of {step_s} s",
            where=where,
            fix="take out times that are far from the others",
        )
    grid = np.full(index[-1] + 1, np.nan)
    grid[index] = values
    is_masked = _partial(grid, step_s)
    grid[is_masked] = np.nan
    series = StepSeries(int(times[0]), step_s, grid, grid, np.zeros(len(grid), np.bool_))
    return TidySeries(name, series, is_masked)


def _step(times: Floats, where: str) -> int:
    """Return the median distance of times, in whole seconds."""
    if len(times) < 2:  # noqa: PLR2004 -- between two there is a distance
        raise InputError("has no two times", where=where, fix="give at least three days of it")
    return max(1, round(float(np.median(np.diff(times)))))


def _partial(values: Floats, step_s: int) -> Bools:
    """Return which steps after a gap were collected in part, as a collector that comes back does.

    Judged by the day before the gap, so that nothing later has a say: from the gap until a first step of a
    tenth of that day's median, for an hour at most.
    """
    is_partial = np.zeros(len(values), np.bool_)
    for first in _after_gaps(values):
        day = values[max(0, first - DAY_S // step_s) : first]
        if np.isfinite(day).any():
            least = PARTIAL * float(np.nanmedian(day))
            for step in range(first, min(first + max(1, PARTIAL_S // step_s), len(values))):
                if not values[step] < least:
                    break
                is_partial[step] = True
    return is_partial


def _after_gaps(values: Floats) -> Iterator[int]:
    is_known = np.isfinite(values)
    yield from (int(step) + 1 for step in np.flatnonzero(~is_known[:-1] & is_known[1:]))
