"""A table in, peaks out."""

import numpy as np
import pandas as pd
import pytest

from fleet.errors import InputError, RefusedError
from foreslice import Forecaster
from tests.builders.demand import DAY, office
from tests.builders.recipes import recipe


def table(values, start="2026-03-02", **columns):
    times = pd.date_range(start, periods=len(values), freq="30min", tz="UTC")
    return pd.DataFrame({"time": times, "requests_per_s": values, **columns})


def peaks(said):
    return said.set_index(["window", "quantile"])["peak"]


def test_office_hours_are_foreseen_at_half_past_eight():
    """From four days on a model is learnt, and it knows the clock."""
    values = office(5.4)[: 5 * DAY + 17]
    said = Forecaster(["1h"], [0.5, 0.95], recipe=recipe(trees=20)).fit(table(values)).forecast()
    assert values[-1] < 30
    assert peaks(said)["1h", 0.95] > 60
    assert {pd.Timestamp("2026-03-07 08:30", tz="UTC")} == set(said["made_at"])


def test_each_workload_window_and_quantile_has_a_row_in_order():
    both = pd.concat([table(office(2.5), workload="b"), table(office(2.5, seed=1), workload="a")])
    said = Forecaster(["1h", "30m"], [0.5, 0.9]).fit(both).forecast()
    rows = [("b", "30m"), ("b", "30m"), ("b", "1h"), ("b", "1h")]
    assert rows == [*zip(said["workload"], said["window"], strict=True)][:4]
    assert 8 == len(said)
    assert (said["peak"].to_numpy()[1::2] >= said["peak"].to_numpy()[::2]).all()


def test_nothing_is_said_before_it_has_learnt():
    with pytest.raises(RefusedError, match="call fit first"):
        Forecaster().forecast()


def test_too_little_is_unknown_and_not_zero():
    said = Forecaster(["1h"], [0.9]).fit(table(np.ones(10))).forecast()
    assert said["peak"].isna().all()


@pytest.mark.parametrize(
    ("windows", "match"),
    [(["45m"], "45m is not whole steps of 30m"), (["soon"], "a duration needs a number")],
)
def test_windows_that_cannot_be_asked_for_are_one_line(windows, match):
    with pytest.raises(InputError, match=match):
        Forecaster(windows).fit(table(office(2.5)))


def test_a_column_that_is_missing_is_one_line():
    with pytest.raises(InputError, match="has no column 'rate'"):
        Forecaster(value="rate").fit(table(office(2.5)))
