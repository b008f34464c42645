"""Learned and simple forecasts of a window, calibrated and mixed."""

import math

import numpy as np
import pytest

from predictor.blend import CUT, Blend, Errors, Line, Origin
from predictor.conformal import ENOUGH
from tests.builders.recipes import CALIBRATION

QUANTILES = (0.5, 0.9, 0.95)
NAN = math.nan
STEP_S = 600


def origin(last=10.0, learned=NAN, anchored=NAN, seasonal=None, highest=20.0, rise=NAN):
    """Level and newest demand are the same; `learned` is the demand that a model expects by quantile."""
    floor = 0.1
    logs = np.full((2, len(QUANTILES)), NAN)
    logs[0] = np.log((np.asarray(learned) + floor) / (last + floor))
    return Origin(
        last + floor,
        last + floor,
        floor,
        last,
        last if seasonal is None else seasonal,
        rise,
        highest,
        logs,
        np.array([math.log((anchored + floor) / (last + floor)), NAN]),
    )


def taught(outcomes, blend=None, is_bound=False, **given):
    """A blend that has said something from the same origin each time, and seen what came."""
    blend = blend or Blend(QUANTILES, STEP_S, CALIBRATION)
    for at, actual in enumerate(outcomes):
        start = origin(**given)
        blend.learn(at, start, blend.forecast(start), actual, is_bound=is_bound)
    return blend


def test_nothing_is_said_of_nothing():
    assert Blend(QUANTILES, STEP_S, CALIBRATION).forecast(origin()) is None


def test_without_a_model_it_is_last_plus_residual():
    outcomes = np.random.default_rng(0).uniform(8, 16, 300)
    said = taught(outcomes).forecast(origin()).demand
    np.testing.assert_allclose(np.quantile(outcomes, QUANTILES), said, rtol=0.05)


def test_a_model_is_used_before_there_are_errors_to_learn_from():
    said = Blend(QUANTILES, STEP_S, CALIBRATION).forecast(origin(learned=[10, 12, 14], anchored=11))
    assert 10 < said.demand[0] < 11
    np.testing.assert_allclose([12, 14], said.demand[1:])


def test_a_model_that_knows_what_comes_is_believed():
    outcomes = np.random.default_rng(0).uniform(8, 16, 400)
    blend = Blend(QUANTILES, STEP_S, CALIBRATION)
    for at, actual in enumerate(outcomes):
        start = origin(learned=[actual] * 3, anchored=actual)
        blend.learn(at, start, blend.forecast(start), actual, is_bound=False)
    np.testing.assert_allclose(
        [9, 9, 9], blend.forecast(origin(learned=[9] * 3, anchored=9)).demand, rtol=0.05
    )


def test_forecasts_are_ordered_finite_and_not_negative():
    """A16: demand that runs out."""
    blend = taught([100, 80, 60, 40, 20, 10, 0, 0] * 20, learned=[30, 5, 1], anchored=0, last=0.0)
    said = blend.forecast(origin(last=0.0, learned=[30, 5, 1])).demand
    assert (said >= 0).all()
    assert (np.diff(said) >= 0).all()
    assert np.isfinite(said).all()


def test_no_model_is_believed_above_all_that_was_ever_seen():
    said = Blend(QUANTILES, STEP_S, CALIBRATION).forecast(
        origin(learned=[1e9] * 3, anchored=1e9, highest=25.0)
    )
    np.testing.assert_allclose([25] * 3, said.demand)


@pytest.mark.parametrize(("learned", "expected"), [(0.009, 0.0), (0.02, 0.02)])
def test_where_nothing_comes_next_to_nothing_is_nothing(learned, expected):
    """The floor is 0.1: a tenth of it is what models cannot tell from nothing."""
    start = origin(last=0.0, learned=[learned] * 3, anchored=learned)
    assert pytest.approx(expected) == Blend(QUANTILES, STEP_S, CALIBRATION).forecast(start).demand[-1]
    assert 0 < Blend(QUANTILES, STEP_S, CALIBRATION).forecast(start._replace(hour=1.0)).demand[-1]


def test_what_lies_beyond_the_history_is_cut_and_said_so():
    blend = taught([400.0] * 100)
    said = blend.forecast(origin(highest=20.0))
    assert ([CUT * 20] * 3, True) == (list(said.demand), said.is_cut)
    assert not blend.forecast(origin(highest=400.0)).is_cut


def test_a_lower_bound_may_raise_and_never_lowers():
    outcomes = np.random.default_rng(0).uniform(8, 16, 110)
    before = taught(outcomes).forecast(origin()).demand
    low = taught([2.0] * 20, blend=taught(outcomes), is_bound=True).forecast(origin()).demand
    high = taught([19.0] * 20, blend=taught(outcomes), is_bound=True).forecast(origin()).demand
    np.testing.assert_allclose(before, low)
    assert (high >= before).all()
    assert high[-1] > before[-1]


def test_a_season_that_nobody_knew_is_not_believed_on_sight():
    """Last week comes to be known after a week in which the newest demand was right."""
    blend = taught([10.0] * 200, seasonal=NAN)
    assert pytest.approx(10, abs=0.1) == blend.forecast(origin(seasonal=90.0, highest=100.0)).demand[0]


def test_peaks_that_come_back_within_the_hour_are_kept_ready_for():
    """Each third step is high, as what cron starts: the newest step says little, the hour all."""
    blend, highs = Blend(QUANTILES, STEP_S, CALIBRATION), np.where(np.arange(300) % 3, 1.0, 16.0)
    for at, last in enumerate(highs):
        start = origin(last=last)._replace(hour=16.0)
        blend.learn(at, start, blend.forecast(start), 16.0, is_bound=False)
    np.testing.assert_allclose(16, blend.forecast(origin(last=1.0)._replace(hour=16.0)).demand, rtol=0.02)


def test_high_quantiles_are_what_the_median_lacked():
    """The models say 10 for all quantiles and are right at the median only."""
    outcomes = np.random.default_rng(0).permutation(np.linspace(8, 12, 400))
    blend = taught(outcomes, learned=[10] * 3, last=1.0, highest=30.0)
    expected = np.quantile(outcomes, QUANTILES)
    said = blend.forecast(origin(last=1.0, learned=[10] * 3, highest=30.0)).demand
    np.testing.assert_allclose(expected, said, rtol=0.05)


def test_the_highest_quantile_is_also_the_tail_of_what_models_lacked_at_the_ninth_decile():
    """Logs of what came stand .01 to 1 above what they said: .91 is the decile, and .05 the mean excess."""
    blend, start = Blend((0.9, 0.95, 0.99), STEP_S, CALIBRATION), origin(learned=[10] * 3, highest=60.0)
    outcomes = 10.1 * np.exp(np.arange(1, 101) / 100) - 0.1
    for at, actual in enumerate(outcomes):
        blend.learn(at, start, blend.forecast(start), actual, is_bound=False)
    expected = 10.1 * math.exp(0.91 + 0.05 * math.log(10)) - 0.1
    np.testing.assert_allclose([NAN, NAN, expected], blend.forecast(start).experts[-1])


def test_a_rise_that_came_on_days_before_is_expected_again_but_for_the_highest_quantiles():
    """From 4 or 9 to 16 by turns: only who knows when is right at both."""
    blend = Blend((0.5, 0.95, 0.99), STEP_S, CALIBRATION)
    for at in range(400):
        start = _alone(4.0, 2.0) if at % 2 else _alone(9.0, 1.0)
        blend.learn(at, start, blend.forecast(start), 16.0, is_bound=False)
    said = blend.forecast(_alone(9.0, 1.0))
    np.testing.assert_allclose([16, 16], said.demand[:2], rtol=0.02)
    assert np.isnan(said.experts[4]).tolist() == [False, False, True]


def _alone(last, rise):
    return Origin(last, last, 0.0, last, NAN, rise, 20.0, np.full((1, 3), NAN), np.array([NAN]))


def test_a_rise_is_not_believed_above_the_highest_demand():
    blend = Blend((0.5,), STEP_S, CALIBRATION)
    start = Origin(9.0, 9.0, 0.0, 9.0, NAN, 30.0, 20.0, np.full((1, 1), NAN), np.array([NAN]))
    for at in range(60):
        blend.learn(at, start, blend.forecast(start), 1000.0, is_bound=False)
    assert pytest.approx(20.0) == blend.forecast(start).experts[4, 0]


def test_models_are_not_asked_once_nothing_came_for_a_day():
    blend, day = Blend(QUANTILES, STEP_S, CALIBRATION), 86400 // STEP_S
    said = [blend.forecast(origin(last=0.0, learned=[5, 6, 7])) for _ in range(day)]
    assert [True, False] == [one is not None for one in said[-2:]]
    assert np.isfinite(blend.forecast(origin(last=1.0, learned=[5, 6, 7])).experts[7]).all()


def test_a_median_is_not_raised():
    blend = Blend((0.5,), STEP_S, CALIBRATION)
    start = Origin(10.0, 10.0, 0.0, 10.0, NAN, NAN, 40.0, np.zeros((1, 1)), np.array([NAN]))
    for at, actual in enumerate(np.random.default_rng(0).uniform(8, 16, 120)):
        blend.learn(at, start, blend.forecast(start), actual, is_bound=False)
    assert blend.forecast(start).mixed[0] == blend.forecast(start).demand[0]


def test_a_mixture_that_covers_too_little_is_raised():
    """The model says 10 for .95 where up to 16 comes; nothing else is there to be mixed in."""
    blend = Blend((0.95,), STEP_S, CALIBRATION)
    start = Origin(10.0, 10.0, 0.0, 10.0, NAN, NAN, 40.0, np.zeros((1, 1)), np.array([NAN]))
    for at, actual in enumerate(np.random.default_rng(0).uniform(8, 16, 120)):
        blend.learn(at, start, blend.forecast(start), actual, is_bound=False)
    assert blend.forecast(start).mixed[0] < blend.forecast(start).demand[0] <= 20


@pytest.mark.parametrize(("known", "expected"), [(ENOUGH - 1, NAN), (ENOUGH, 2.0)])
def test_errors_are_silent_until_there_are_enough(known, expected):
    errors = Errors(1000, QUANTILES)
    for at in range(known):
        errors.add(at, (2.0,), is_bound=False)
    np.testing.assert_array_equal([expected] * 3, errors.quantiles())


@pytest.mark.parametrize(
    ("known", "sure"), [(50, [True, True, False]), (99, [True, True, False]), (100, [True] * 3)]
)
def test_a_high_quantile_is_sure_only_of_many_errors(known, sure):
    errors = Errors(1000, QUANTILES, columns=3)
    for at in range(known):
        errors.add(at, (1.0, 2.0, 3.0), is_bound=False)
    assert sure == list(np.isfinite(errors.sure_diagonal()))
    np.testing.assert_array_equal([1, 2, 3], errors.diagonal())


def test_errors_are_forgotten_with_time():
    errors = Errors(60, QUANTILES)
    for at in range(200):
        errors.add(at, (1.0 if at < 100 else 5.0,), is_bound=False)
    np.testing.assert_array_equal([5, 5, 5], errors.quantiles())


def test_a_line_learns_from_a_window_when_it_has_closed():
    line, blend = Line(QUANTILES, STEP_S, 3, CALIBRATION), Blend(QUANTILES, STEP_S, CALIBRATION)
    outcomes = np.random.default_rng(0).uniform(8, 16, 200)
    starts = [origin(last=value) for value in outcomes]
    opened = []
    for at, start in enumerate(starts):
        if at >= 3:
            blend.learn(at, starts[at - 3], opened[at - 3], outcomes[at], is_bound=False)
        opened.append(blend.forecast(start))
        said = line.advance(start, outcomes[at], is_bound=False)
        expected = opened[-1]
        assert (expected is None) == (said is None)
        if said is not None:
            np.testing.assert_array_equal(expected.demand, said.demand)


def test_a_window_that_is_not_known_whole_teaches_nothing():
    line, other = Line(QUANTILES, STEP_S, 1, CALIBRATION), Line(QUANTILES, STEP_S, 1, CALIBRATION)
    for value in np.random.default_rng(0).uniform(8, 16, 60):
        line.advance(origin(), value, is_bound=False)
        other.advance(origin(), value, is_bound=False)
        other.advance(origin(), NAN, is_bound=False)
    np.testing.assert_array_equal(
        line.advance(origin(), NAN, is_bound=False).demand,
        other.advance(origin(), NAN, is_bound=False).demand,
    )
