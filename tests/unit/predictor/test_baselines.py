"""The rules that learned forecasts must beat."""

import math

import numpy as np
import pytest

from predictor.baselines import calibrated, holt_winters, yesterday
from predictor.calendar import Calendar
from predictor.features import Target, ahead, features
from tests.builders.demand import DAY, HALF_HOUR_S, office, steps

NAN = math.nan


def test_seasonal_naive_is_the_same_window_yesterday_and_the_newest_demand_before():
    series = steps(office(3))
    table = features(series, (3600,), Calendar())[3600]
    said = yesterday(series, table, 2)
    now = 2 * DAY + 9
    assert max(series.values[now + 1 - DAY : now + 3 - DAY]) == said[now]
    assert series.values[5] == said[5]


def test_smoothing_follows_a_clean_season():
    values = 10 + 5 * np.sin(2 * np.pi * np.arange(6 * DAY) / DAY)
    said = holt_winters(steps(values), 2, Target.PEAK, [4 * DAY])
    came = ahead(values, 2, Target.PEAK)
    assert np.isnan(said[: 4 * DAY]).all()
    np.testing.assert_allclose(came[4 * DAY : -2], said[4 * DAY : -2], rtol=0.02)


def test_smoothing_goes_on_through_a_gap():
    values = office(6)
    values[5 * DAY : 5 * DAY + 6] = NAN
    said = holt_winters(steps(values), 1, Target.PEAK, [4 * DAY])
    assert np.isfinite(said[4 * DAY :]).all()


def test_smoothing_knows_nothing_later():
    values, now = office(6), 5 * DAY
    later = np.append(values[: now + 1], np.full(DAY - 1, 1e6))
    ours, theirs = (holt_winters(steps(one), 2, Target.STEP, [3 * DAY, 5 * DAY]) for one in (values, later))
    np.testing.assert_array_equal(ours[: now + 1], theirs[: now + 1])


@pytest.mark.parametrize("values", [office(1.5), np.ones(4 * DAY), np.full(4 * DAY, NAN)])
def test_smoothing_says_nothing_of_too_little_or_of_nothing(values):
    assert np.isnan(holt_winters(steps(values), 1, Target.PEAK, [DAY])).all()


def test_a_rule_is_calibrated_on_its_own_past_errors():
    came = np.random.default_rng(0).uniform(8, 16, 900)
    said = calibrated(np.full(900, 10.0), came, 2, HALF_HOUR_S, (0.5, 0.9))
    assert np.isnan(said[:51]).all()
    assert np.isfinite(said[52:]).all()
    covered = (came[300:, None] <= said[300:]).mean(axis=0)
    np.testing.assert_allclose([0.5, 0.9], covered, atol=0.04)


def test_calibration_waits_for_a_window_to_close():
    came = np.random.default_rng(0).uniform(8, 16, 300)
    later = np.append(came[:200], np.full(100, 1e6))
    ours, theirs = (calibrated(np.full(300, 10.0), one, 5, HALF_HOUR_S, (0.9,)) for one in (came, later))
    np.testing.assert_array_equal(ours[:205], theirs[:205])
    assert (ours[206:] != theirs[206:]).any()
