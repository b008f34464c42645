"""Demand as a table for notebooks and spreadsheets: a row a minute, and how far it is known."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import pandas as pd

from fleet.sample import Reason
from fleet.signal import Signal
from predictor.demand import demand_history
from predictor.ports import BUCKET_S, Bools, DemandHistory, Floats, SignalBuckets

COLUMNS = ("time", "workload", "requests_per_s", "prompt_tokens", "output_tokens", "state", "reason")


class State(StrEnum):
    """How far the demand of a minute is known."""

    KNOWN = "known"
    IDLE = "idle"
    CENSORED = "censored"
    UNKNOWN = "unknown"


def tidy(buckets: SignalBuckets, since_s: int) -> pd.DataFrame:
    """Return a row for each bucket from `since_s` on, with `COLUMNS`; what was before only tells of them.

    `time` is the start of the minute, UTC. `requests_per_s` is what was offered: at least that where `state`
    is censored, empty where it is unknown, and then `reason` says why. Tokens are means of one request, over
    the last requests that finished; empty before enough have.
    """
    demand = demand_history(buckets)
    states, reasons = _states(buckets, demand)
    times = buckets.start_s + BUCKET_S * np.arange(len(states))
    table = pd.DataFrame(
        {
            "time": pd.to_datetime(times, unit="s", utc=True).as_unit("s"),
            "workload": str(buckets.workload),
            "requests_per_s": demand.requests_per_s,
            "prompt_tokens": demand.prompt_tokens,
            "output_tokens": demand.output_tokens,
            "state": states,
            "reason": reasons,
        }
    )
    return table.iloc[(since_s - buckets.start_s) // BUCKET_S :].reset_index(drop=True)


def _states(buckets: SignalBuckets, demand: DemandHistory) -> tuple[np.ndarray, np.ndarray]:
    """Return by bucket its state, and why it is unknown if it is.

    A minute without requests is idle only where the engines also say that none were being served.
    """
    requests = demand.requests_per_s
    is_unknown = np.isnan(requests)
    running = buckets.values.get(Signal.RUNNING, np.full(len(requests), np.nan))
    state = np.select(
        [is_unknown, demand.is_censored, (requests == 0) & (running == 0)],
        [State.UNKNOWN.value, State.CENSORED.value, State.IDLE.value],
        State.KNOWN.value,
    )
    return state, np.where(is_unknown, _reasons(buckets, len(requests)), "")


def _reasons(buckets: SignalBuckets, n: int) -> np.ndarray:
    times = buckets.start_s + BUCKET_S * np.arange(n)
    is_partial: Bools = np.zeros(n, dtype=np.bool_)
    for since_s, until_s in buckets.partial_s:
        is_partial |= (times >= since_s) & (times < until_s)
    rows: list[Floats] = [np.full(n, np.nan), *buckets.values.values()]
    is_read = np.isfinite(rows).any(axis=0)
    return np.select(
        [is_partial, is_read, ~np.logical_or.accumulate(is_read)],
        [Reason.PARTIAL.value, Reason.TOO_FEW.value, Reason.ABSENT.value],
        Reason.EMPTY.value,
    )
