"""Minutes in steps, and steps in parts."""

import math

import numpy as np
import pytest

from predictor.steps import StepSeries

NAN = math.nan


def of_minutes(start_s, minutes, is_censored=None, step_s=300):
    censored = np.zeros(len(minutes), bool) if is_censored is None else np.array(is_censored)
    return StepSeries.of_minutes(start_s, np.array(minutes, dtype=float), censored, step_s)


@pytest.mark.parametrize(
    ("start_s", "minutes", "first_s", "values", "highest"),
    [
        (0, [1, 2, 3, 4, 5], 0, [3], [5]),
        (0, [1, 2, 3, 4, 5, 9], 0, [3], [5]),
        (180, [7, 7, 1, 2, 3, 4, 5], 300, [3], [5]),
        (0, [1, NAN, 3, 4, 5], 0, [13 / 4], [NAN]),
        (0, [NAN] * 5, 0, [NAN], [NAN]),
        (0, [1, 2], 0, [], []),
        (60, [1, 2], 300, [], []),
    ],
)
def test_whole_steps_of_a_grid_that_begins_with_the_epoch(start_s, minutes, first_s, values, highest):
    series = of_minutes(start_s, minutes)
    assert (first_s, 300) == (series.start_s, series.step_s)
    np.testing.assert_allclose(values, series.values)
    np.testing.assert_allclose(highest, series.highest)


def test_a_step_with_a_censored_minute_is_a_lower_bound():
    assert [False, True] == list(of_minutes(0, range(10), [False] * 7 + [True] + [False] * 2).is_censored)


def test_parts_that_follow_each_other_are_the_whole():
    whole = of_minutes(600, range(40))
    joined = whole.part(0, 3).followed_by(whole.part(3, 8))
    assert (whole.start_s, whole.end_s, 1500) == (joined.start_s, joined.end_s, whole.part(3, 8).start_s)
    for name in ("values", "highest", "is_censored", "ends_s"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(joined, name))


def test_steps_end_when_their_value_is_known():
    assert [900, 1200] == list(of_minutes(600, range(10)).ends_s)


@pytest.mark.parametrize(("length_s", "expected"), [(300, 1), (1800, 6), (60, 1), (86400, 288)])
def test_a_length_of_time_in_steps(length_s, expected):
    assert expected == of_minutes(0, range(5)).steps_in(length_s)
