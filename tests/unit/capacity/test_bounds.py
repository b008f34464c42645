"""The rate that the truth exceeds with 90 % confidence, on problems whose answer is known."""

import numpy as np
import pytest

from capacity.bounds import expected_and_low
from capacity.sustained import Binding, Sustained

Z90 = 1.2816
APART = 0.15**2 * np.eye(3)
TOGETHER = np.full((3, 3), 0.15**2)


def falling(*powers):
    """A rate that falls with these powers of alpha, beta and gamma, one question a row of powers."""

    def solve(these, slower):
        falls = 9 * np.exp(-(slower * np.reshape(powers, (-1, 3))[these]).sum(axis=1))
        return [Sustained(float(rate), 1.0, Binding.COMPUTE) for rate in falls]

    return solve


def rates(solve, *covariances):
    return [[one.requests_per_s for one in each] for each in expected_and_low(solve, np.array(covariances))]


def test_a_rate_that_goes_with_one_parameter_is_as_doubtful_as_it():
    expected, low = rates(falling([0.0, 1.0, 0.0]), APART)

    assert [9.0] == expected
    assert [9 * np.exp(-Z90 * 0.15)] == pytest.approx(low)


def test_parameters_that_err_apart_make_up_for_each_other():
    _, apart = rates(falling([0.5, 0.4, 0.1]), APART)
    _, together = rates(falling([0.5, 0.4, 0.1]), TOGETHER)

    assert [9 * np.exp(-Z90 * 0.15 * np.linalg.norm([0.5, 0.4, 0.1]))] == pytest.approx(apart)
    assert [9 * np.exp(-Z90 * 0.15)] == pytest.approx(together)


def test_every_question_has_its_own_worst_way():
    _, low = rates(falling([1.0, 0.0, 0.0], [0.0, 0.0, 2.0]), APART, TOGETHER)

    assert [9 * np.exp(-Z90 * 0.15), 9 * np.exp(-Z90 * 0.30)] == pytest.approx(low)


def test_of_any_smooth_rate_nine_draws_in_ten_are_above_the_bound():
    """Drawn from the belief itself: correlated, and a rate that is no product of powers."""

    def solve(_, slower):
        a, b, c = np.exp(slower).T
        return [Sustained(float(1 / x), 1.0, Binding.COMPUTE) for x in 0.6 * a + 0.3 * b + 0.1 * c]

    root = np.array([[0.15, 0.0, 0.0], [0.05, 0.12, 0.0], [0.1, 0.0, 0.03]])
    _, [low] = rates(solve, root @ root.T)
    draws = np.random.default_rng(5).standard_normal((20_000, 3)) @ root.T

    assert pytest.approx(0.90, abs=0.01) == np.mean([one.requests_per_s > low for one in solve(None, draws)])


def test_what_cannot_be_served_has_no_bound_either():
    def solve(_, slower):
        return [Sustained(0.0, 0.0, Binding.COMPUTE_TTFT) for _ in slower]

    assert [[0.0], [0.0]] == rates(solve, APART)


def test_a_target_that_a_slower_law_misses_leaves_no_safe_rate():
    def solve(_, slower):
        return [Sustained(float(max(0.0, 9 * (1 - 20 * a))), 1.0, Binding.COMPUTE_ITL) for a in slower[:, 0]]

    assert [[9.0], [0.0]] == rates(solve, APART)


def test_without_doubt_the_bound_is_what_is_expected():
    assert [[9.0], [9.0]] == rates(falling([1.0, 1.0, 1.0]), np.zeros((3, 3)))


def test_the_binding_constraint_is_that_of_the_solver():
    expected, low = expected_and_low(falling([1.0, 0.0, 0.0]), np.array([APART]))

    assert [Binding.COMPUTE, Binding.COMPUTE] == [expected[0].binding, low[0].binding]


def test_no_questions_have_no_answers():
    assert ([], []) == expected_and_low(falling(), np.empty((0, 3, 3)))
