"""A tidy CSV of scraped series as a table, or one clear line about what is wrong with it."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pandas as pd

from fleet.errors import InputError
from predictor.ports import Floats

REQUIRED = ("timestamp", "series", "pod", "namespace", "value")
"""Columns that every file has; any other is a label."""

CLOCKS_DIFFER_S = 86400.0
"""Readings further in the future than clocks and time zones differ have another unit than seconds."""


def read_table(path: Path) -> pd.DataFrame:
    """Return the rows: `timestamp` in s and `value` as floats, every other column as a category of strings.

    A timestamp without a zone is UTC. An empty value or NaN is a scrape that knew nothing.

    Raises:
        InputError: Not readable, not a CSV, a required column, a timestamp or a value missing or malformed,
            or a timestamp in the future.
    """
    table = _read(path)
    missing = [column for column in REQUIRED if column not in table.columns]
    if missing:
        raise InputError(
            f"misses column {', '.join(missing)}",
            where=str(path),
            fix=f"needed are {', '.join(REQUIRED)}; there are {', '.join(table.columns)}",
        )
    if table.empty:
        raise InputError("holds no rows", where=str(path), fix="give a file with scraped series")
    table["timestamp"] = _seconds(table["timestamp"], path)
    table["value"] = _numbers(table["value"], path)
    return table


def _read(path: Path) -> pd.DataFrame:
    fix = f"give a CSV file with columns {', '.join(REQUIRED)}"
    try:
        header = pd.read_csv(path, nrows=0).columns
        labels = {column: "category" for column in header if column != "value"}
        return pd.read_csv(
            path,
            dtype=labels,
            keep_default_na=False,
            na_values={"value": ["", "NaN", "nan"]},
            low_memory=False,
        )
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix=fix) from error
    except pd.errors.EmptyDataError as error:
        raise InputError("is empty", where=str(path), fix=fix) from error
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"is not a CSV ({str(error).strip()})", where=str(path), fix=fix) from error


def _seconds(column: pd.Series, path: Path) -> Floats:
    """Parse each distinct timestamp once: a scrape stamps many rows alike."""
    texts = column.cat.categories
    numbers = pd.to_numeric(texts.to_series(), errors="coerce").to_numpy(dtype=np.float64)
    if np.isnan(numbers).any():
        stamps = pd.to_datetime(texts, utc=True, format="ISO8601", errors="coerce")
        parsed = np.where(stamps.isna(), np.nan, stamps.as_unit("us").asi8 / 1e6)
        numbers = np.where(np.isnan(numbers), parsed, numbers)
    seconds: Floats = np.append(numbers, np.nan)[column.cat.codes.to_numpy()]  # code -1: not there
    if not np.isfinite(seconds).all():
        _refuse(column, int(np.argmin(np.isfinite(seconds))), path, "ISO 8601 or seconds since the epoch")
    latest = int(np.argmax(seconds))
    if seconds[latest] > time.time() + CLOCKS_DIFFER_S:  # noqa: TID251 -- a file is read beside the clock
        raise InputError(
            f"timestamp {str(column.iloc[latest])!r} in line {latest + 2} is in the future",
            where=str(path),
            fix="write seconds since the epoch, not milliseconds, or ISO 8601",
        )
    return seconds


def _numbers(column: pd.Series, path: Path) -> Floats:
    numbers = pd.to_numeric(column, errors="coerce")
    is_bad = numbers.isna() & column.notna()
    if is_bad.any():
        _refuse(column, int(np.argmax(is_bad)), path, "a number or NaN")
    return numbers.to_numpy(dtype=np.float64)


def _refuse(column: pd.Series, row: int, path: Path, wanted: str) -> None:
    """Name the line as an editor counts it: the header is line 1."""
    raise InputError(
        f"{column.name} {str(column.iloc[row])!r} in line {row + 2} cannot be read",
        where=str(path),
        fix=f"write it as {wanted}",
    )
