"""Scores of peak forecasts, against figures worked out by hand."""

import math

import numpy as np
import pytest

from predictor.scores import coverage, forward_peaks, scaled_pinball

NAN = math.nan


@pytest.mark.parametrize(
    ("work", "window_s", "expected"),
    [
        ([1, 3, 2, 5], 120, [3, 3, 5, NAN]),
        ([1, 3, 2, 5], 60, [1, 3, 2, 5]),
        ([1, NAN, 2, 5], 120, [NAN, NAN, 5, NAN]),
        ([1, 2], 300, [NAN, NAN]),
    ],
)
def test_peak_of_the_window_that_opens_with_a_bucket(work, window_s, expected):
    np.testing.assert_array_equal(expected, forward_peaks(np.array(work, dtype=float), window_s))


def test_pinball_is_scaled_by_what_came():
    actual, forecast = np.array([1.0, 3.0, NAN, 5.0]), np.array([2.0, 2.0, 2.0, NAN])
    assert pytest.approx(((1 - 0.9) * 1 + 0.9 * 1) / 2 / 2) == scaled_pinball(actual, forecast, 0.9)


def test_a_forecast_that_is_met_covers():
    actual, forecast = np.array([1.0, 2.0, 3.0, NAN]), np.array([1.0, 1.9, 4.0, 9.0])
    assert 2 / 3 == coverage(actual, forecast)
