"""Times as tables have them, in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from fleet.errors import InputError
from predictor.ports import Floats

_PER_S = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Numbers above the first are nano-, micro- or milliseconds: as seconds they would be past the year 5000."""


def seconds_of(column: pd.Series, path: Path) -> Floats:
    """Return the times of a column, seconds since whatever they count from; `InputError` if one is none."""
    if pd.api.types.is_numeric_dtype(column):
        seconds = in_seconds(column.to_numpy(dtype=np.float64, na_value=np.nan))
    else:
        stamps = pd.to_datetime(column, utc=True, format="ISO8601", errors="coerce")
        seconds = np.where(stamps.isna(), np.nan, stamps.dt.as_unit("us").astype("int64") / 1e6)
    if not np.isfinite(seconds).all():
        row = int(np.argmin(np.isfinite(seconds)))
        raise InputError(
            f"{column.name} {str(column.iloc[row])!r} in row {row + 1} is no time",
            where=str(path),
            fix="write seconds or ISO 8601 timestamps, or name another column (--time)",
        )
    return seconds


def in_seconds(times: Floats) -> Floats:
    """Return numbers that count seconds, or milli-, micro- or nanoseconds since the epoch, in seconds."""
    usual = float(np.nanmedian(times)) if np.isfinite(times).any() else 0.0
    per_s = next((per_s for above, per_s in _PER_S if usual > above), 1.0)
    seconds: Floats = times / per_s
    return seconds
