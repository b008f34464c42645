"""The exported table says how far the demand of each minute is known; unknown is never a number."""

import numpy as np
import pandas as pd
import pytest

from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.ports import SignalBuckets
from predictor.tidy import COLUMNS, tidy

KEY = WorkloadKey("prod", "llama")
START_S = 1_772_323_200  # 2026-03-01
NAN = np.nan


def table(completions, running=0.0, waiting=0.0, partial_s=(), **more):
    n = len(completions)
    rows = {
        Signal.COMPLETIONS: completions,
        Signal.RUNNING: np.broadcast_to(running, n),
        Signal.WAITING: np.broadcast_to(waiting, n),
        **{Signal(name): np.broadcast_to(row, n) for name, row in more.items()},
    }
    values = {signal: np.array(row, dtype=float) for signal, row in rows.items()}
    return tidy(SignalBuckets(KEY, START_S, values, partial_s), START_S + 60)


def test_what_was_before_only_tells_how_demand_grew_after_it():
    told = table([60, 120, 180])
    assert list(COLUMNS) == list(told.columns)
    assert [2.0, 3.0] == told["requests_per_s"].tolist()
    assert ["2026-03-01 00:01:00+00:00", "2026-03-01 00:02:00+00:00"] == told["time"].astype(str).tolist()
    assert {"prod/llama"} == set(told["workload"])


@pytest.mark.parametrize(
    ("state", "more"),
    [
        ("known", {"completions": [60, 60]}),
        ("known", {"completions": [0, 0], "running": 1.0}),
        ("known", {"completions": [0, 0], "running": NAN, "waiting": NAN}),
        ("idle", {"completions": [0, 0]}),
        ("censored", {"completions": [60, 60], "waiting": 3.0}),
        ("censored", {"completions": [60, 60], "kv_use": 0.95}),
        ("unknown", {"completions": [60, NAN]}),
        ("unknown", {"completions": [60, 60], "running": [0.0, NAN]}),
    ],
)
def test_states(state, more):
    told = table(**more)
    assert [state] == told["state"].tolist()
    assert (state == "unknown") == told["requests_per_s"].isna().all()


@pytest.mark.parametrize(
    ("reason", "more"),
    [
        ("no such series", {"completions": [NAN, NAN, 60, 60], "running": [NAN, NAN, 0, 0]}),
        ("query returned nothing", {"completions": [60, NAN, 60, 60], "running": [0, NAN, 0, 0]}),
        ("too few readings in the window", {"completions": [60, NAN, 60, 60]}),
        (
            "the source says its answer is partial",
            {"completions": [60, NAN, 60, 60], "partial_s": ((START_S + 60, START_S + 120),)},
        ),
    ],
)
def test_why_a_minute_is_unknown(reason, more):
    waiting = {"waiting": more["running"]} if "running" in more else {}
    told = table(**more, **waiting)
    assert reason == told["reason"][0]
    assert "" == told["reason"].iloc[-1]
    assert pd.isna(told["requests_per_s"][0])


def test_tokens_are_those_of_one_request():
    told = table([60, 60], prompt_tokens=60_000.0, output_tokens=6000.0)
    assert [(1000.0, 100.0)] == list(zip(told["prompt_tokens"], told["output_tokens"], strict=True))
