"""The real traffic that is shipped: what eight clients of two LLM services sent, in steps of ten minutes."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

TRACE_STEP_S = 600
"""Length of a step of the data, seconds."""

Floats = NDArray[np.float64]

_FILE = "servegen_8_tenants.csv.gz"


@dataclass(frozen=True, slots=True)
class ClientTrace:
    """One client's traffic in consecutive steps of `TRACE_STEP_S`, gaps filled.

    Attributes:
        client: Service and client, as the data names it.
        requests_per_s: Mean over each step.
        prompt_tokens: Mean prompt tokens of a request.
        output_tokens: Mean output tokens of a request.
        interarrival_cv: Coefficient of variation of the time between arrivals.
        gaps: Steps that were not collected as (first, one past the last); their rates are interpolated.
    """

    client: str
    requests_per_s: Floats
    prompt_tokens: Floats
    output_tokens: Floats
    interarrival_cv: Floats
    gaps: tuple[tuple[int, int], ...]


@cache
def shipped_traces() -> Mapping[str, ClientTrace]:
    """Return the traces of ServeGen (`simulator/data/README.md`) by client, read-only."""
    packed = resources.files("simulator").joinpath("data", _FILE).read_bytes()
    rows: dict[str, list[list[float]]] = {}
    for row in csv.DictReader(io.StringIO(gzip.decompress(packed).decode())):
        cells = [row[column] for column in _COLUMNS]
        rows.setdefault(row["workload"], []).append([float(cell) if cell else np.nan for cell in cells])
    return MappingProxyType({client: _trace(client, np.array(table).T) for client, table in rows.items()})


_COLUMNS = ("requests_per_s", "prompt_tokens_per_request", "output_tokens_per_request", "interarrival_cv")


def _trace(client: str, columns: Floats) -> ClientTrace:
    rates, prompt, output, variation = columns
    usual = np.where(np.isnan(variation), np.nanmedian(variation), variation)
    filled = (_interpolated(rates), _carried(prompt), _carried(output), usual)
    for values in filled:
        values.setflags(write=False)
    return ClientTrace(client, *filled, gaps=_runs(np.isnan(rates)))


def _interpolated(values: Floats) -> Floats:
    steps = np.arange(len(values), dtype=np.float64)
    known = ~np.isnan(values)
    return np.interp(steps, steps[known], values[known])


def _carried(values: Floats) -> Floats:
    """Fill with the last known value; before the first, with the first."""
    known = np.flatnonzero(~np.isnan(values))
    last = np.searchsorted(known, np.arange(len(values)), side="right") - 1
    filled: Floats = values[known[np.maximum(last, 0)]]
    return filled


def _runs(flags: NDArray[np.bool_]) -> tuple[tuple[int, int], ...]:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False])).astype(np.int8)))
    return tuple((int(first), int(end)) for first, end in edges.reshape(-1, 2))
