"""Demand as a table, wherever it comes from: the shipped sample, a file, or a Prometheus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.errors import InputError
from foreslice.api.prometheus import demand_of_prometheus
from predictor.sources.demand_table import ONLY, Columns, TidySeries, read_table, tidy
from predictor.sources.times import seconds_of
from predictor.tidy import COLUMNS, State
from simulator.offered import EPOCH_S
from simulator.tenants import shipped_tenants
from simulator.traces import TRACE_STEP_S, shipped_traces

SAMPLE = "sample"
"""Name of the shipped demand: eight clients of two production services over eleven days, in ten minutes."""

SEED = 1
"""Draws how large the sample's workloads are, as `foreslice demo` does."""

_TOKENS = ("prompt_tokens", "output_tokens")


def read_demand(
    source: str | Path = SAMPLE,
    *,
    time: str = "time",
    by: str = "workload",
    value: str = "requests_per_s",
    days: float = 14,
) -> pd.DataFrame:
    """Return demand as a table, a row a step and workload.

    Columns: `time` (start of the step, UTC), `workload`, `requests_per_s` (offered; NaN = unknown, never an
    invented zero), `prompt_tokens` and `output_tokens` (means of a request, NaN = unknown), `state` (`known`,
    `idle`, `censored` = at least that much, `unknown`) and `reason` (why it is unknown).

    Args:
        source: "sample", a tidy CSV or Parquet file (`foreslice history export` writes one), or the address
            of a Prometheus, of which every workload that an engine serves there is read.
        time: Column of a file with times.
        by: Column of a file that tells workloads apart; one that it does not have = one workload.
        value: Column of a file with demand, in any unit.
        days: How far back a Prometheus is asked.

    Raises:
        InputError: The file or the address cannot be used.
        UnavailableError: Prometheus does not answer.

    Example:
        >>> from foreslice import read_demand
        >>> demand = read_demand("sample")
        >>> demand.groupby("workload")["requests_per_s"].max().round(1).head(3)
        workload
        drifting        8.5
        evening       140.9
        nights-off     35.0
        Name: requests_per_s, dtype: float64
    """
    text = str(source)
    if text == SAMPLE:
        return _sample()
    if text.startswith(("http://", "https://")):
        return demand_of_prometheus(text, days)
    return _of_file(Path(source), time, by, value)


def series_of(demand: pd.DataFrame, value: str = "requests_per_s") -> list[TidySeries]:
    """Return the regular series of a table as `read_demand` has them; `InputError` if it has none."""
    by = "workload" if "workload" in demand.columns else ""
    if missing := [name for name in ("time", value) if name not in demand.columns]:
        what, there = f"has no column {missing[0]!r}", ", ".join(map(str, demand.columns))
        raise InputError(what, where="table", fix=f"there are {there}")
    found = tidy(demand, Columns("time", by, value), Path("table"))
    if "state" not in demand.columns:
        return found
    bounds = demand.assign(bound=(demand["state"] == State.CENSORED).astype(float))
    marks = tidy(bounds, Columns("time", by, "bound"), Path("table"))
    return [
        replace(one, series=replace(one.series, is_censored=mark.series.values > 0))
        for one, mark in zip(found, marks, strict=True)
    ]


def _sample() -> pd.DataFrame:
    tenants, traces = shipped_tenants(CapacityModel([H100_80GB]), SEED), shipped_traces()
    parts = []
    for tenant in tenants:
        requests = tenant.requests_per_s.copy()
        for first, end in traces[tenant.client].gaps:
            requests[first:end] = np.nan
        times = EPOCH_S + TRACE_STEP_S * np.arange(len(requests))
        table = pd.DataFrame({"time": pd.to_datetime(times, unit="s", utc=True).as_unit("s")})
        table["workload"] = tenant.workload.key.name
        table["requests_per_s"] = requests
        table["prompt_tokens"], table["output_tokens"] = tenant.prompt_tokens, tenant.output_tokens
        parts.append(table)
    return _with_states(pd.concat(parts, ignore_index=True))


def _of_file(path: Path, time: str, by: str, value: str) -> pd.DataFrame:
    table = read_table(path)
    by = by if by in table.columns else ""
    read = tidy(table, Columns(time, by, value), path)  # refuses what is no demand
    given = pd.DataFrame(
        {
            "time": pd.to_datetime(seconds_of(table[time], path), unit="s", utc=True),
            "workload": table[by].astype(str) if by else ONLY,
            "requests_per_s": pd.to_numeric(table[value], errors="coerce"),
        }
    )
    for column in _TOKENS:
        given[column] = pd.to_numeric(table[column], errors="coerce") if column in table else np.nan
    if {"state", "reason"} <= set(table.columns):
        return given.assign(state=table["state"], reason=table["reason"].astype(object).fillna(""))[
            list(COLUMNS)
        ]
    if not read:
        raise InputError("holds no series", where=str(path), fix="give a file with demand over time")
    return _with_states(given)


def _with_states(table: pd.DataFrame) -> pd.DataFrame:
    requests = table["requests_per_s"]
    state = np.select([requests.isna(), requests == 0], [State.UNKNOWN.value, State.IDLE.value], "known")
    reason = np.where(requests.isna(), "not collected", "")
    return table.assign(state=state, reason=reason)[list(COLUMNS)]
