"""What a table of demand is like, in figures."""

import numpy as np
import pandas as pd
import pytest

from foreslice.lab import explore


def table(values, name="chat", state="known"):
    times = pd.date_range("2026-03-02", periods=len(values), freq="10min", tz="UTC")
    columns = {"time": times, "workload": name, "requests_per_s": values, "prompt_tokens": 100.0}
    return pd.DataFrame({**columns, "output_tokens": 20.0, "state": state, "reason": ""})


STEP = np.arange(3 * 144)
OFFICE = np.where((STEP % 144 >= 54) & (STEP % 144 < 102), 5.0, 1.0)


def test_office_hours_repeat_by_day_and_two_days_say_nothing_of_a_week():
    about = explore.summary(table(OFFICE)).iloc[0]
    assert pytest.approx(1.0) == about["day"]
    assert np.isnan(about["week"])
    assert (pytest.approx(OFFICE.mean()), 5.0) == (about["mean"], about["peak"])


def test_a_burst_is_a_rise_within_half_an_hour():
    """One rise a day is seen from the three steps before it."""
    assert pytest.approx(9 / len(STEP), rel=0.02) == explore.summary(table(OFFICE))["bursts"].item()
    assert 0 == explore.summary(table(np.ones(300)))["bursts"].item()


def test_what_is_unknown_idle_and_censored_is_counted_by_workload():
    some = pd.concat(
        [table([1.0, np.nan], "a", ["known", "unknown"]), table([0.0, 2.0], "b", ["idle", "censored"])]
    )
    about = explore.summary(some).set_index("workload")
    assert [0.5, 0.0, 0.0] == [*about.loc["a", ["unknown", "idle", "censored"]]]
    assert [0.0, 0.5, 0.5] == [*about.loc["b", ["unknown", "idle", "censored"]]]


def test_gaps_are_shaded_from_their_first_step_to_the_end_of_the_last():
    values = np.ones(10)
    values[3:5] = np.nan
    state = np.where(np.isnan(values), "unknown", "known")
    (shape,) = explore.demand_figure(table(values, state=state)).layout.shapes
    assert ("2026-03-02T00:30", "2026-03-02T00:50") == (shape.x0.isoformat()[:16], shape.x1.isoformat()[:16])
