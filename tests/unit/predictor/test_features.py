"""What a learned forecast goes by: nothing later, nothing that depends on the unit."""

import math

import numpy as np
import pytest

from predictor.calendar import Calendar
from predictor.features import Target, ago, ahead, features, newest
from tests.builders.demand import DAY, HALF_HOUR_S, office, steps

NAN = math.nan
WINDOWS_S = (1800, 3600)


def tables(values, **options):
    return features(steps(values), WINDOWS_S, Calendar(), **options)


def column(table, name):
    return table.rows[:, table.names.index(name)]


@pytest.mark.parametrize("change", [0.0, 1e6, NAN])
def test_rows_hold_nothing_later_than_their_step(change):
    values = office(9)
    now = 8 * DAY
    other = np.append(values[: now + 1], np.full(len(values) - now - 1, change))
    for window_s in WINDOWS_S:
        before, after = tables(values)[window_s], tables(other)[window_s]
        np.testing.assert_array_equal(before.rows[: now + 1], after.rows[: now + 1])
        for name in ("level", "last", "floor", "hour", "seasonal", "rise"):
            np.testing.assert_array_equal(getattr(before, name)[: now + 1], getattr(after, name)[: now + 1])


def test_the_unit_of_demand_does_not_matter():
    small, large = tables(office(9))[1800], tables(1000 * office(9))[1800]
    np.testing.assert_allclose(small.rows, large.rows, atol=1e-4)


def test_the_last_rows_alone_are_those_of_the_whole_table():
    values = office(9)
    whole, last = tables(values)[3600], tables(values, since=8 * DAY + 5)[3600]
    for name in ("rows", "level", "last", "floor", "hour", "seasonal", "rise", "target", "is_bound"):
        np.testing.assert_array_equal(getattr(whole, name)[8 * DAY + 5 :], getattr(last, name))


@pytest.mark.parametrize(
    ("target", "width", "expected"),
    [
        (Target.PEAK, 1, [3, 2, NAN, 5, NAN]),
        (Target.PEAK, 2, [3, NAN, NAN, NAN, NAN]),
        (Target.STEP, 2, [2, NAN, 5, NAN, NAN]),
    ],
)
def test_the_target_of_a_window_is_known_only_whole(target, width, expected):
    np.testing.assert_array_equal(expected, ahead(np.array([1, 3, 2, NAN, 5.0]), width, target))


def test_what_came_of_a_window_is_known_once_it_has_closed():
    came = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal([NAN, NAN, 1, 2], ago(came, 2, width=2))
    assert np.isnan(ago(came, 1, width=2)).all()


def test_newest_demand_is_the_last_known_step_or_five_minutes_of_shorter_ones():
    np.testing.assert_array_equal([1, 1, 4], newest(steps([1, NAN, 4])))
    np.testing.assert_array_equal([1, 2, 3, 3.5, 3], newest(steps([1, 3, 5, 5, 1], step_s=60)))


def test_yesterday_is_the_same_window_one_day_before():
    values = office(3)
    table = tables(values)[1800]
    now = 2 * DAY + 10
    expected = math.log((values[now + 1 - DAY] + table.floor[now]) / table.level[now])
    assert pytest.approx(expected, abs=1e-6) == column(table, "yesterday, window")[now]


def test_last_week_is_unknown_in_the_first_one():
    assert np.isnan(column(tables(office(6))[1800], "last week, window")).all()
    assert np.isfinite(column(tables(office(8))[1800], "last week, window")[7 * DAY :]).all()


def test_the_usual_rise_is_the_median_of_the_days_before():
    """The same hour rose from 4 to 25, from 4 to 9 and not at all: 3, 1 and 0 on a square-root scale."""
    values = np.full(4 * DAY, 4.0)
    now = 3 * DAY + 10
    values[now - 3 * DAY + 1], values[now - 2 * DAY + 1] = 25.0, 9.0
    rise = tables(values)[1800].rise
    assert 1.0 == rise[now]
    assert [3.0, 2.0] == [rise[now - 2 * DAY], rise[now - DAY]]
    assert np.isnan(rise[: DAY - 1]).all()


def test_the_seasonal_centre_is_no_lower_than_the_newest_demand():
    values = office(9)
    table = tables(values)[1800]
    now = 8 * DAY + 3
    assert max(values[now], values[now + 1 - 7 * DAY]) == table.seasonal[now]
    assert np.isnan(table.seasonal[: 7 * DAY - 1]).all()
    assert pytest.approx(values[DAY]) == table.newest_or_last_week[DAY]


def test_a_window_with_a_censored_step_is_a_lower_bound():
    censored = np.zeros(5, bool)
    censored[3] = True
    table = features(steps(np.ones(5), is_censored=censored), (3600,), Calendar())[3600]
    assert [False, True, True, False, False] == list(table.is_bound)


@pytest.mark.parametrize("step_s", [60, 300, 600, HALF_HOUR_S, 3600])
def test_steps_of_any_length_have_features(step_s):
    table = features(steps(np.ones(2 * 86400 // step_s), step_s=step_s), (7200,), Calendar())[7200]
    assert len(set(table.names)) == table.rows.shape[1]
    assert np.isfinite(table.rows[-1, : table.names.index("last week, window")]).sum() > 10


def test_all_windows_have_the_same_columns():
    """One model serves them all. Beyond an hour, what came an hour ago is not known yet."""
    by_window = features(steps(office(9)), (1800, 3600, 7200, 86400), Calendar())
    assert 1 == len({table.names for table in by_window.values()})
    for name in ("growth, same minute, mean", "growth, same minute, max"):
        assert np.isfinite(column(by_window[3600], name)).any()
        assert np.isnan(column(by_window[7200], name)).all()
