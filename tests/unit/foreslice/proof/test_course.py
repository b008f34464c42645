"""What is known when: forecasts in both readings of a step, gaps, and days to choose settings on."""

import numpy as np
import pytest

from foreslice.proof.course import QUANTILES, courses_of, grid_of
from foreslice.proof.scene import Part, Piece, Scene, glide, jump
from predictor.steps import DAY_S

STEP_S = 3600
BY_DAY = DAY_S // STEP_S
SEVENTH = Piece("1/7", 1 / 7, 1 / 7, 1 / 7)


def scene(values, reading, test_day, step_s=STEP_S):
    read = glide if reading == "glide" else jump
    part = Part("a", step_s, read(values, step_s), SEVENTH, SEVENTH)
    return Scene((part,), test_day * 1440, reading)


def values(days):
    return np.arange(days * BY_DAY, dtype=np.float64)


class Echo:
    """Forecasts the newest step that it was given, and remembers what it was asked."""

    def __call__(self, series, first, window_s):
        self.first, self.window_s, self.step_s = first, window_s, series[0].step_s
        return [np.repeat(one.values[:, np.newaxis], len(QUANTILES), axis=1) for one in series]


def known(reading, lag_s):
    """Return the grid, what was asked, and what forecasts at the end of each minute of a day went by."""
    around = scene(values(7), reading, 5)
    grid, echo = grid_of(around, lag_s, 600), Echo()
    [course] = courses_of(around, grid, echo)
    return grid, echo, course.ahead[0, grid.test : grid.test + 1440]


def test_where_demand_jumps_a_forecast_knows_the_five_minutes_that_are_over():
    grid, echo, newest = known("jump", 900)
    ends_min = np.arange(1, 1441)
    went_by = (ends_min // 5 * 5 - 1) // 60
    np.testing.assert_array_equal(5 * BY_DAY + went_by, newest)
    assert (300, 1200, grid.start // 5) == (echo.step_s, echo.window_s, echo.first)


def test_where_demand_glides_a_forecast_is_made_in_the_middle_of_a_step_and_stands_to_the_next():
    _, echo, newest = known("glide", 900)
    ends_min = np.arange(1, 1441)
    np.testing.assert_allclose(5 * BY_DAY + (ends_min - 30) // 60, newest, atol=0.01)
    assert (3600, 7200) == (echo.step_s, echo.window_s)


def test_short_lags_have_a_forecast_each_minute():
    _, echo, newest = known("jump", 180)
    np.testing.assert_array_equal(5 * BY_DAY + np.arange(1440) // 60, newest)
    assert (60, 240) == (echo.step_s, echo.window_s)


def test_settings_are_chosen_on_whole_days_before_the_test_as_many_as_have_forecasts():
    grid = grid_of(scene(values(8), "jump", 6), 900, 600)
    assert (3 * 1440, 3 * 1440, 5 * 1440, 720) == (grid.start, grid.test, grid.steps, grid.block)
    assert (15, 10, 6) == (grid.limits.lag, grid.limits.quiet, grid.first_block)


def test_a_lag_of_half_minutes_has_a_grid_of_half_minutes():
    grid = grid_of(scene(values(8), "jump", 6), 90, 600)
    assert (30, 3, 20) == (grid.step_s, grid.limits.lag, grid.limits.quiet)


@pytest.mark.parametrize("lag_s", [300, 900])
def test_what_is_unknown_does_not_count_nor_what_follows_within_lag_and_two_steps(lag_s):
    gappy = values(6)
    gappy[5 * BY_DAY + 2] = np.nan
    around = scene(gappy, "jump", 5)
    grid = grid_of(around, lag_s, 600)
    [course] = courses_of(around, grid, Echo())
    missing = np.flatnonzero(~course.counts) - grid.test
    assert (2 * 60, 3 * 60 + lag_s // 60 + 2 * 60 - 1) == (missing[0], missing[-1])
    assert np.isfinite(course.demand).all()
