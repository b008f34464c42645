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
from tests.builders.demand import HALF_HOUR_S, taxi

DATA = Path(__file__).parents[3] / "data" / "demand" / "series.csv.gz"
GRAIN = 1 / 7
PEAK = 8.0
"""Work at the 99.9 % quantile of each series, in full replicas: whole cards cut in sevenths."""


@cache
def table():
    return pd.read_csv(DATA)


def passed(name, lead_s, days=6):
    """What the gate lets pass in the end, of the last days of a series."""
    rows = table()[table().series == name]
    step_s = int(rows.t_s.iloc[1] - rows.t_s.iloc[0])
    rows = rows.tail(days * 86400 // step_s)
    return passed_of(rows.value.to_numpy(), step_s, lead_s, int(rows.t_s.iloc[0]) // 300 * 300)


def passed_of(values, step_s, lead_s, start_s=0):
    """The same of values by step, which are held for their minutes."""
    work = np.repeat(values, step_s // BUCKET_S)
    work *= PEAK / np.nanquantile(work, 0.999)
    key = WorkloadKey("serving", "chat")
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


def test_taxi_trips_are_foreseen():
    said = passed_of(taxi("2014-10-06", days=8), HALF_HOUR_S, 900.0)
    assert said.worth.is_used
    assert said.worth.low > 0


@pytest.mark.timeout(60)  # nine days by the minute: long on a busy machine
def test_hourly_jobs_are_foreseen():
    said = passed("hourly-jobs", 240.0, days=9)
    assert said.worth.is_used
    assert said.worth.low > 0.1
