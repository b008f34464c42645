"""The highest of steps up to each one, and of those after it."""

import numpy as np
import pytest

from predictor.highest import highest_ahead, trailing_highest


@pytest.mark.parametrize("width", [1, 2, 3, 4, 9])
def test_it_looks_as_far_as_it_is_told_and_no_further(width):
    values = np.random.default_rng(width).permutation(7)
    back = [values[max(0, at - width + 1) : at + 1].max() for at in range(7)]
    ahead = [values[at + 1 : at + 1 + width].max() for at in range(6)]
    assert back == trailing_highest(values, width).tolist()
    assert [*ahead, values[-1]] == highest_ahead(values, width).tolist()


def test_what_comes_is_not_what_is():
    assert [3, 3, 2, 2] == highest_ahead(np.array([9.0, 1.0, 3.0, 2.0]), 2).tolist()


def test_time_may_be_any_axis_and_kinds_of_numbers_stay():
    steps = np.array([[1, 5], [3, 2], [0, 4]])
    assert [[1, 5], [3, 5], [3, 4]] == trailing_highest(steps, 2, axis=0).tolist()
    assert [np.int64, np.bool_] == [trailing_highest(one, 2).dtype for one in (steps, steps > 2)]
