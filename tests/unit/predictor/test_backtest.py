"""Forecasts replayed on the past: nothing from the future, and better than the bar on what can be learnt."""

import numpy as np
import pytest

from predictor.backtest import LAST, LAST_WEEK, OURS, SMOOTHED, YESTERDAY, backtest
from predictor.features import Target
from predictor.recipe import Question
from predictor.scorecard import card
from tests.builders.demand import DAY, office, steps
from tests.builders.recipes import RECIPES

QUANTILES = (0.9, 0.95)


def run(*series, test_from=4 * DAY, windows_s=(3600,), target=Target.PEAK):
    told, _ = backtest(
        series, [test_from] * len(series), Question(windows_s, QUANTILES, target), RECIPES, lambda *_: None
    )
    return told


def test_office_hours_are_forecast_better_than_by_any_rule_that_knows_no_clock():
    ((told,),) = [list(one.values()) for one in run(steps(office(6.8)), test_from=6 * DAY)]
    figures = card(told, QUANTILES, 2)
    assert figures.ratio[0.95] < 0.7
    assert figures.scores[0.95][OURS].coverage > 0.9
    assert {OURS, LAST, LAST_WEEK, YESTERDAY, SMOOTHED} == figures.scores[0.95].keys()


def test_changing_the_future_moves_no_forecast():
    values, now = office(4.8), 4 * DAY + 9
    later = np.append(values[: now + 1], np.full(len(values) - now - 1, 1e5))
    ours, theirs = (run(steps(one))[0][3600] for one in (values, later))
    for name in ours.said:
        np.testing.assert_array_equal(ours.said[name][: now + 1], theirs.said[name][: now + 1])


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_a_series_that_never_moves_is_as_good_for_all(value):
    told = run(steps(np.full(round(4.5 * DAY), value)))[0][3600]
    figures = card(told, QUANTILES, 2)
    assert [pytest.approx(1.0, abs=1e-3)] * len(QUANTILES) == list(figures.ratio.values())
    np.testing.assert_allclose(value, told.said[OURS][4 * DAY :], atol=1e-6)


def test_windows_across_a_gap_are_not_scored():
    values = office(4.5)
    values[4 * DAY + 5 : 4 * DAY + 9] = np.nan
    told = run(steps(values), test_from=4 * DAY)[0][3600]
    assert not told.is_scored[4 * DAY + 3 : 4 * DAY + 8].any()
    assert told.is_scored[[4 * DAY + 2, 4 * DAY + 8]].all()
    assert not told.is_scored[: 4 * DAY].any()


def test_the_step_at_the_end_of_a_window_can_be_asked_for():
    values = office(4.3)
    told = run(steps(values), target=Target.STEP)[0][3600]
    np.testing.assert_array_equal(values[2:], told.came[:-2])


def test_two_days_are_enough_for_the_rules_if_not_for_a_model():
    told = run(steps(office(2.9)), test_from=2 * DAY)[0][3600]
    assert told.is_scored.any()
    assert np.isfinite(told.said[OURS][told.is_scored]).all()


def test_series_of_different_steps_are_told_in_their_order():
    told = run(steps(office(2.5)), steps(office(2.5), step_s=600), windows_s=(3600,), test_from=2 * DAY)
    assert [round(2.5 * DAY)] * 2 == [len(one[3600].came) for one in told]


def test_progress_ends_near_one_and_never_falls():
    shares = []
    series = [steps(office(2.5)), steps(office(2.5, seed=1))]
    backtest(
        series, [2 * DAY] * 2, Question((3600,), QUANTILES), RECIPES, lambda _, done: shares.append(done)
    )
    assert shares == sorted(shares)
    assert 0.5 < shares[-1] <= 1


def test_windows_below_and_above_an_hour_are_forecast_together():
    (told,) = run(steps(office(4.5)), windows_s=(3600, 7200))
    assert all(np.isfinite(told[window_s].said[OURS][-DAY // 4 :]).any() for window_s in (3600, 7200))
