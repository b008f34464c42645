"""A recorded trace, as regular series of requests and of what a request is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from fleet.errors import InputError
from predictor.ports import BUCKET_S
from predictor.sources.demand_table import Columns, TidySeries, demand_of, read_table, tidy
from predictor.sources.times import seconds_of

TIMES = ("timestamp", "t_s", "time")
"""Names that the column with the time may have, in this order."""

RATE, WORKLOAD = "rate", "workload"
TOKENS = ("prompt_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Trace:
    """What workloads were offered.

    Attributes:
        rates: Offered requests/s (or any demand), by workload.
        tokens: Mean prompt and output tokens of a request, on the same steps; empty where the file has none.
    """

    rates: Mapping[str, TidySeries]
    tokens: Mapping[str, tuple[TidySeries, TidySeries]]


def read_trace(path: Path) -> Trace:
    """Return the trace in a CSV (`.gz` too) or Parquet file.

    With a column `rate` a row is a step of a workload; without, it is a request. `workload`, `prompt_tokens`
    and `output_tokens` (of one request, on average) may be left out. A missing step is unknown, never zero;
    a minute without a request between others of a request-level trace is zero.

    Raises:
        InputError: Not readable, no time, or values that are no demand.
    """
    table = read_table(path)
    time = next((name for name in TIMES if name in table.columns), None)
    if time is None:
        raise InputError(
            f"has no column {', '.join(TIMES)}",
            where=str(path),
            fix=f"name the one with the time so; there are {', '.join(map(str, table.columns))}",
        )
    if RATE not in table.columns:
        table, time = _by_minute(table, time, path), TIMES[1]
    by = WORKLOAD if WORKLOAD in table.columns else ""
    rates = {one.name: one for one in tidy(table, Columns(time, by, RATE), path)}
    for name, one in rates.items():
        if not np.isfinite(one.series.values).any():
            raise InputError(f"knows no {RATE} of {name}", where=str(path), fix="leave its rows out")
    if not set(TOKENS) <= set(table.columns):
        return Trace(rates, {})
    prompt, output = (
        {one.name: one for one in tidy(table, Columns(time, by, name), path)} for name in TOKENS
    )
    return Trace(rates, {name: (prompt[name], output[name]) for name in rates})


def _by_minute(table: pd.DataFrame, time: str, path: Path) -> pd.DataFrame:
    """Return requests counted by minute, with their mean tokens."""
    table = table.assign(**{name: demand_of(table[name], path) for name in TOKENS if name in table.columns})
    table = table.reset_index(drop=True)  # rows of a sorted Parquet file keep the numbers that they had
    minute = np.floor(seconds_of(table[time], path) / BUCKET_S).astype(np.int64)
    minutes = np.arange(minute.min(), minute.max() + 1)
    names = table[WORKLOAD].astype(str) if WORKLOAD in table.columns else pd.Series("all", index=table.index)
    parts = []
    for name, rows in table.groupby(names, sort=False):
        grouped = rows.groupby(minute[rows.index.to_numpy()])
        part = pd.DataFrame({RATE: grouped.size().reindex(minutes, fill_value=0) / BUCKET_S})
        for column in TOKENS:
            if column in table.columns:
                part[column] = grouped[column].mean().reindex(minutes).ffill().bfill()
        part[WORKLOAD], part[TIMES[1]] = str(name), minutes * BUCKET_S
        parts.append(part)
    return pd.concat(parts, ignore_index=True)
