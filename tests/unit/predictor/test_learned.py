"""Models of what comes next."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from predictor.calendar import WEEKDAY, Calendar
from predictor.features import features
from predictor.learned import LEAST_ROWS, ROWS, TAIL, Lesson, learn, thinned_to
from tests.builders.demand import DAY, HALF_HOUR_S, office, steps
from tests.builders.recipes import recipe

QUICK = recipe(trees=20, learning_rate=0.2)
WINDOWS_S = (1800, 3600)


def lesson(values, until=None, is_censored=None, windows_s=WINDOWS_S):
    tables = features(steps(values, is_censored=is_censored), windows_s, Calendar())
    return Lesson(tables, len(values) if until is None else until, HALF_HOUR_S)


def said(model, values, window_s=1800):
    table = features(steps(values), WINDOWS_S, Calendar())[window_s]
    logs, anchored = model.predict(table.rows, window_s)
    return np.exp(logs) * table.level[:, None] - table.floor[:, None], np.exp(
        anchored
    ) * table.last - table.floor


def test_office_hours_are_foreseen_an_hour_ahead():
    values = office(10)
    model = learn([lesson(values[: 8 * DAY])], (0.5,), QUICK)
    before_nine = 9 * DAY + 17
    assert values[before_nine] < 30
    assert pytest.approx(100, rel=0.15) == said(model, values, 3600)[0][before_nine, 0]


def test_one_model_serves_all_windows():
    """At a quarter to nine the next half hour is still quiet and the next hour is not."""
    values = office(10)
    model = learn([lesson(values[: 8 * DAY])], (0.5,), QUICK)
    at_half_past_eight = 9 * DAY + 16
    near, far = (said(model, values, window_s)[0][at_half_past_eight, 0] for window_s in WINDOWS_S)
    assert far > 2 * near


@pytest.mark.parametrize("quantiles", [(0.5, 0.9), (0.9, 0.95)])
def test_the_median_has_a_second_anchor_where_it_is_asked_for(quantiles):
    values = office(5)
    logs, anchored = said(learn([lesson(values)], quantiles, QUICK), values)
    assert (len(values), len(quantiles)) == logs.shape
    assert (0.5 in quantiles) == bool(np.isfinite(anchored[DAY:]).all())


@pytest.mark.parametrize(("days", "is_known"), [(5, False), (9, True)])
def test_a_week_is_looked_back_on_once_there_is_one(days, is_known):
    """A25: scikit-learn 1.9 fails on a column that is nowhere known, as last week's is after five days."""
    values = office(days)
    taught = lesson(values)
    table = taught.tables[1800]
    weekly = [name.startswith("last week") for name in table.names]
    assert is_known == np.isfinite(table.rows[:, weekly]).any()
    assert np.isfinite(said(learn([taught], (0.5, 0.95), QUICK), values)[0][DAY:]).all()


def test_what_closes_after_the_lesson_is_not_learnt():
    values = office(6)
    until = 5 * DAY
    other = np.append(values[:until], 1e6 * np.ones(DAY))
    expected, changed = (learn([lesson(one, until)], (0.5,), QUICK) for one in (values, other))
    np.testing.assert_array_equal(said(expected, values)[0], said(changed, values)[0])


def test_too_little_teaches_nothing():
    assert learn([lesson(office(3), until=LEAST_ROWS // 2)], (0.5,), QUICK) is None
    assert learn([lesson(office(3), until=LEAST_ROWS // 2 + 2)], (0.5,), QUICK) is not None
    assert learn([lesson(np.full(5 * DAY, np.nan))], (0.5,), QUICK) is None


@pytest.mark.parametrize(("days", "is_looked_at"), [(20, False), (21, True)])
def test_the_day_of_the_week_counts_from_three_weeks_on(days, is_looked_at):
    taught = lesson(office(days))
    model = learn([taught], (0.5,), recipe(trees=2))
    assert is_looked_at == model.columns[taught.tables[1800].names.index(WEEKDAY)]


def test_constant_and_idle_series_can_be_learnt():
    for value in (0.0, 7.0):
        values = np.full(4 * DAY, value)
        np.testing.assert_allclose(value, said(learn([lesson(values)], (0.9,), QUICK), values)[0], atol=1e-6)


def test_an_outage_that_is_masked_is_not_learnt():
    """A21: 12 h without readings on two days; the peak after it is foreseen as without it."""
    values, masked = office(10), office(10)
    masked[4 * DAY : 4 * DAY + 24] = masked[6 * DAY : 6 * DAY + 24] = np.nan
    clean, other = (learn([lesson(one[: 8 * DAY])], (0.9,), QUICK) for one in (values, masked))
    last = slice(9 * DAY, None)
    apart = said(clean, values)[0][last] / said(other, values)[0][last]
    assert np.abs(np.log(apart)).mean() < 0.15


def test_censored_demand_never_lowers_what_is_learnt():
    values = office(6)
    is_censored = np.zeros(len(values), bool)
    is_censored[4 * DAY :] = True
    shed = np.where(is_censored, values / 10, values)
    exact, bound = (learn([one], (0.9,), QUICK) for one in (lesson(values), lesson(shed, None, is_censored)))
    noon = 5 * DAY + 24
    assert pytest.approx(said(exact, values)[0][noon, 0], rel=0.1) == said(bound, values)[0][noon, 0]


def test_a_long_series_does_not_drown_a_short_one():
    flat, steep = np.full(6 * DAY, 10.0), np.tile([10.0, 30.0], DAY)
    model = learn([lesson(flat), lesson(steep)], (0.9,), QUICK)
    assert said(model, steep)[0][-2, 0] > 20


def test_thinning_learns_from_every_second_step():
    values = office(8)
    whole, thin = (
        learn([lesson(values)], (0.5,), recipe(every_s=every_s, trees=20, learning_rate=0.2))
        for every_s in (0, 2 * HALF_HOUR_S)
    )
    apart = said(whole, values)[0][2 * DAY :] / said(thin, values)[0][2 * DAY :]
    assert 0 < np.abs(np.log(apart)).mean() < 0.2


@pytest.mark.parametrize(
    ("steps_each", "windows", "strides"),
    [
        ([10], 2, (1, 1)),
        ([ROWS], 1, (1, 1)),
        ([ROWS], 2, (2, 1)),
        ([ROWS, ROWS // 2], 2, (3, 1)),
        ([ROWS] * 19, 1, (19, 2)),
    ],
)
def test_many_rows_are_thinned_alike_and_the_highest_windows_less(steps_each, windows, strides):
    lessons = [Lesson(dict.fromkeys(range(windows)), until, HALF_HOUR_S) for until in steps_each]
    assert strides == thinned_to(lessons, every_s=0)
    assert tuple(max(stride, 2) for stride in strides) == thinned_to(lessons, every_s=2 * HALF_HOUR_S)


class Seen(BaseEstimator):
    """Takes down what it is fitted to, by quantile."""

    fits: ClassVar = {}

    def __init__(self, quantile):
        self.quantile = quantile

    def fit(self, X, y, sample_weight=None):  # noqa: N803 -- scikit-learn's name
        self.fits[self.quantile] = y, sample_weight
        return self


def test_models_of_high_quantiles_see_all_of_the_highest_windows_which_weigh_less():
    """Four times the rows that a model is fitted to: one in four of all windows, each of the highest."""
    length, random = 64 * DAY, np.random.default_rng(0)
    taught = [lesson(random.lognormal(size=length), windows_s=(1800,)) for _ in range(16)]
    taught *= 4 * ROWS // length // 16
    rows = length * len(taught)
    learn(taught, (0.5, 0.99), replace(QUICK, estimator=Seen, parameters={}))
    (low, unweighted), (high, weight) = Seen.fits[0.5], Seen.fits[0.99]
    assert unweighted is None
    assert pytest.approx(rows / 4, rel=0.01) == len(low)
    weight = weight / weight.min()
    is_tail = weight < 2
    np.testing.assert_allclose(weight[~is_tail], 4.0, rtol=0.01)
    assert high[is_tail].min() >= high[~is_tail].max()
    assert pytest.approx((1 - TAIL) * rows, rel=0.1) == is_tail.sum()
    assert pytest.approx(rows, rel=0.01) == weight.sum()


def test_a_lower_bound_takes_part_above_the_quantile_of_the_exact_ones_by_their_weights():
    """A row of the short series weighs twice as much as one of the long."""
    random, half_hour = np.random.default_rng(0), (HALF_HOUR_S,)
    long = lesson(random.lognormal(0, 0.1, 32 * DAY), windows_s=half_hour)
    short = lesson(random.lognormal(0, 1, 8 * DAY), windows_s=half_hour)
    cut = lesson(random.lognormal(0, 1, 8 * DAY), is_censored=np.ones(8 * DAY, bool), windows_s=half_hour)
    learn([long, short, cut], (0.9,), replace(QUICK, estimator=Seen, parameters={}))
    logs = []
    for one in (long, short, cut):
        table = one.tables[HALF_HOUR_S]
        logs.append(np.log((table.target + table.floor) / table.level)[:-1])
    least = np.quantile(np.concatenate([logs[0], logs[1], logs[1]]), 0.9)
    taken = len(logs[0]) + len(logs[1]) + (logs[2] >= least).sum()
    assert pytest.approx(taken, abs=2) == len(Seen.fits[0.9][0])


def test_a_fleet_that_is_idle_has_no_highest_windows():
    """All come to the same: then all of them would be the highest."""
    one = lesson(np.zeros(64 * DAY), windows_s=(1800,))
    learn([one] * (2 * ROWS // (64 * DAY)), (0.99,), replace(QUICK, estimator=Seen, parameters={}))
    assert len(Seen.fits[0.99][0]) <= ROWS
