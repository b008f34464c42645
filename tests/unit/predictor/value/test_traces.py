"""The gate behind the ladder on public demand: which forecasts pay, and which do not."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fleet.workload import WorkloadKey
from predictor.ladder import Ladder
from predictor.ports import BUCKET_S, WorkSeries
from predictor.value.gate import Gate, Terms

DATA = Path(__file__).parents[3] / "data" / "demand" / "series.csv.gz"
GRAIN = 1 / 7
PEAK = 8.0
"""Work at the 99.9 % quantile of each series, in full replicas: whole cards cut in sevenths."""


@cache
def table():
    return pd.read_csv(DATA)


def passed(name, lead_s, days=6):
    """What the gate lets pass in the end, of a series whose steps are held for their minutes."""
    rows = table()[table().series == name]
    step_s = int(rows.t_s.iloc[1] - rows.t_s.iloc[0])
    rows = rows.tail(days * 86400 // step_s)
    work = np.repeat(rows.value.to_numpy(), step_s // BUCKET_S)
    work *= PEAK / np.nanquantile(work, 0.999)
    key, start_s = WorkloadKey("serving", name), int(rows.t_s.iloc[0]) // 300 * 300
    gate = Gate(
        Terms(lead_s=lambda: lead_s, quiet_s=600.0, quantile=lambda: 0.95, unserved=0.005, grain=GRAIN)
    )
    ladder = Ladder(key, gate=gate).fit(WorkSeries(key, start_s, work, np.zeros(len(work), np.bool_)))
    return ladder.peaks()


@pytest.mark.parametrize("name", ["m-large", "m-mid", "tweets"])
@pytest.mark.parametrize("lead_s", [240.0, 900.0])
def test_demand_without_a_season_is_left_to_a_rule(name, lead_s):
    said = passed(name, lead_s)
    assert not said.worth.is_used
    assert "rule" == said.rung


@pytest.mark.timeout(60)  # nine days by the minute: long on a busy machine
def test_hourly_jobs_are_foreseen():
    said = passed("hourly-jobs", 240.0, days=9)
    assert said.worth.is_used
    assert said.worth.low > 0.1
