"""Rolling quantiles and the offsets that calibrate: right coverage, right window, right caution."""

import math

import numpy as np
import pytest

from fleet.demand import QUANTILES
from predictor.conformal import NEEDED, Offsets, Recent, ranks

TOP = QUANTILES[-1]


def recent(scores, bounds=()):
    built = Recent()
    for at, score in enumerate(scores):
        built.add(at, (score,), is_lower_bound=False)
    for score in bounds:
        built.add(len(scores), (score,), is_lower_bound=True)
    return built


@pytest.mark.parametrize("n", [1, 2, 9, 10, 19, 20, 50, 99, 100, 1440])
def test_rank_is_the_smallest_that_covers_the_next_score_often_enough(n):
    """The next of n + 1 exchangeable scores is at or below the one of rank k with probability k / (n + 1)."""
    for quantile, rank in zip(QUANTILES, ranks(n), strict=True):
        k = rank + 1
        assert k == n or k / (n + 1) >= quantile - 1e-9
        assert (k - 1) / (n + 1) < quantile


def test_quantiles_are_the_scores_of_those_ranks():
    scores = np.random.default_rng(0).permutation(100)
    assert [90, 93, 95, 97, 99] == recent(scores.tolist()).quantiles()


def test_only_the_window_counts():
    built = recent([100.0, 100.0, 1.0, 2.0, 3.0])
    built.expire(2)
    assert (3, [1.0, 2.0, 3.0]) == (len(built), list(built.ordered()))
    built.expire(99)
    assert (0, []) == (len(built), list(built.ordered()))


def test_a_score_that_repeats_expires_once():
    built = recent([5.0, 5.0, 5.0])
    built.expire(1)
    assert [5.0, 5.0] == list(built.ordered())


def test_nothing_has_no_quantile():
    with pytest.raises(IndexError):
        Recent().quantiles()


BOUNDS = {
    "below the top notch it would lower: left out": ([50.0], 0),
    "at or above the top notch it raises": ([99.0, 500.0], 2),
    "some of each": ([1.0, 98.0, 200.0], 1),
}


@pytest.mark.parametrize(("bounds", "counted"), BOUNDS.values(), ids=BOUNDS)
def test_lower_bounds_count_where_they_raise(bounds, counted):
    exact = [float(i) for i in range(100)]
    built = recent(exact, bounds)
    assert 100 == len(built)
    assert 100 + counted == len(built.ordered())
    assert all(
        after >= before for after, before in zip(built.quantiles(), recent(exact).quantiles(), strict=True)
    )


def test_lower_bounds_raise_columns_at_their_own_quantiles_too():
    built = Recent(columns=2, quantiles=(0.5, 0.9))
    for at in range(100):
        built.add(at, (at, at), is_lower_bound=False)
    for at in range(100, 120):
        built.add(at, (500.0, 500.0), is_lower_bound=True)
    assert [60.0, 500.0] == built.diagonal()
    assert (500.0, 0.0) == built.tail(1)


def test_lower_bounds_alone_are_no_scores():
    built = recent([], [1.0, 2.0])
    assert (0, []) == (len(built), list(built.ordered()))


def test_lower_bounds_expire_too():
    built = recent([float(i) for i in range(100)], [500.0])
    built.expire(101)
    built.add(200, (1.0,), is_lower_bound=False)
    assert [1.0] == list(built.ordered())


def offsets(n, actual=2.0, forecast=1.0):
    built = Offsets()
    for at in range(n):
        built.add(at, actual, [forecast] * len(QUANTILES), is_lower_bound=False)
    return built


def test_five_scores_beyond_the_quantile_are_needed():
    assert (50, 67, 100, 167, 500) == NEEDED


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (0, [0, 0, 0, 0, 0]),
        (49, [0, 0, 0, 0, 0]),
        (50, [1, 0, 0, 0, 0]),
        (167, [1, 1, 1, 1, 0]),
        (500, [1, 1, 1, 1, 1]),
    ],
)
def test_a_quantile_is_shifted_once_enough_is_known(n, expected):
    assert expected == offsets(n).shifts(cap=9)


@pytest.mark.parametrize(("actual", "expected"), [(100.0, 0.5), (1.2, pytest.approx(0.2)), (-100.0, 0.0)])
def test_shifts_are_capped_and_never_go_down(actual, expected):
    assert [expected] * len(QUANTILES) == offsets(500, actual=actual).shifts(cap=0.5)


def test_a_shift_rolls_with_its_window():
    built = offsets(500, actual=2.0)
    for at in range(500, 1000):
        built.add(at, 4.0, [1.0] * len(QUANTILES), is_lower_bound=False)
    built.expire(500)
    assert [3.0] * len(QUANTILES) == built.shifts(cap=9)


def test_shifts_bring_forecasts_that_are_too_low_to_their_quantile():
    rng = np.random.default_rng(1)
    built = Offsets()
    for at, actual in enumerate(rng.normal(size=2000)):
        built.add(at, actual, [-1.0] * len(QUANTILES), is_lower_bound=False)
    fresh = rng.normal(size=20_000)
    for quantile, shift in zip(QUANTILES, built.shifts(cap=math.inf), strict=True):
        assert quantile == pytest.approx(np.mean(fresh <= -1.0 + shift), abs=0.015)


def test_a_shift_is_not_lowered_by_outcomes_that_were_cut_off():
    exact = offsets(500, actual=2.0)
    exact.add(500, -5.0, [1.0] * len(QUANTILES), is_lower_bound=True)
    assert [1.0] * len(QUANTILES) == exact.shifts(cap=9)
