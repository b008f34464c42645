"""What happened once is not expected again: a spike, and the hour that a change of the clock counts twice."""

import numpy as np
import pandas as pd
import pytest

from predictor.calendar import Calendar
from predictor.features import features
from predictor.learned import Lesson, learn
from tests.builders.demand import DAY, HALF_HOUR_S, steps, taxi
from tests.builders.recipes import recipe

WEEK, WEEKS = 7 * DAY, 5
QUICK = recipe(trees=20, learning_rate=0.2)


def foreseen(values, at, quantile, calendar):
    """What is said, after five weeks, of the half hour that step `at` of the sixth is."""
    series = steps(values[: WEEKS * WEEK + at])
    table = features(series, (HALF_HOUR_S,), calendar)[HALF_HOUR_S]
    logs, _ = learn([Lesson({HALF_HOUR_S: table}, WEEKS * WEEK, HALF_HOUR_S)], (quantile,), QUICK).predict(
        table.rows[-1:], HALF_HOUR_S
    )
    return np.exp(logs[0, 0]) * table.level[-1] - table.floor[-1]


@pytest.mark.parametrize("ago", [1, 3], ids=["last week", "three weeks ago"])
def test_a_spike_that_came_once_is_not_expected_again(ago):
    """A22, grafana/mimir#7775: 100 for weeks, 1,000 once."""
    values = np.random.default_rng(0).uniform(95, 105, (WEEKS + 1) * WEEK)
    slot = 2 * DAY + 20
    values[(WEEKS - ago) * WEEK + slot] = 1000.0
    assert 90 < foreseen(values, slot, 0.95, Calendar()) < 200


def test_the_hour_that_the_clock_counted_twice_does_not_double_the_next_weeks():
    """A20: 39,197 taxi trips at 01:00, when New York's clock went back; 23,782 a week later."""
    rates = taxi(pd.Timestamp("2014-11-09 01:00") - pd.Timedelta(weeks=WEEKS, days=3), 7 * WEEKS + 3.01)
    assert (39197, 23782) == (rates[-1 - WEEK], rates[-1])
    assert pytest.approx(rates[-1], rel=0.25) == foreseen(rates, 3 * DAY, 0.5, Calendar())
