"""Shares inside an SLO follow the stated distributions, and their tails those of the simulation."""

import numpy as np
import pytest

from fleet.workload import LatencyTarget, Slo
from simulator.latency import itl_share_under, limits_of, share_done_by, share_inside


def quantile(share_under, q):
    """Invert a distribution of mean 1 by search."""
    grid = np.linspace(0.001, 12, 400_000)
    return grid[np.searchsorted(share_under(grid), q)]


@pytest.mark.parametrize(("q", "expected"), [(0.95, 3.0), (0.99, 4.605)])
def test_first_and_last_tokens_have_an_exponential_tail(q, expected):
    assert pytest.approx(expected, rel=2e-3) == quantile(lambda x: share_done_by(x, 0.0, 1.0), q)


def test_p95_of_the_itl_is_1_32_times_its_mean():
    assert pytest.approx(43.6 / 33.1, rel=5e-3) == quantile(lambda x: itl_share_under(x, 1.0), 0.95)


def test_the_mean_of_the_itl_is_the_mean_given():
    """The mean is the integral of what is above."""
    grid = np.linspace(1e-6, 60, 2_000_000)
    above = 1 - itl_share_under(grid, 1.0)
    assert pytest.approx(1.0, rel=1e-3) == float(above.sum() * (grid[1] - grid[0]))


def test_nobody_is_faster_than_the_queue():
    assert 0.0 == share_done_by(np.array(0.5), np.array(0.6), np.array(0.01))


def test_all_terms_have_to_be_kept():
    limits = limits_of([Slo(LatencyTarget(0.95, 1.0), LatencyTarget(0.95, 0.05), LatencyTarget(0.95, 20.0))])
    shares = share_done_by(1.0, 0.2, 0.3), itl_share_under(0.05, 0.04), share_done_by(20.0, 0.2, 7.0)
    assert pytest.approx(float(np.prod(shares))) == share_inside(limits, 0.2, 0.3, 0.04, 7.0).all[0]


def test_a_term_that_is_not_asked_for_does_not_bind():
    limits = limits_of([Slo(), Slo(ttft=LatencyTarget(0.95, 1.0))])
    wait, first, itl = np.array([100.0, 0.0]), np.array([10.0, 0.1]), np.array([5.0, 5.0])
    inside = share_inside(limits, wait, first, itl, np.array([900.0, 9.0])).all
    assert 1.0 == inside[0]
    assert pytest.approx(-np.expm1(-10.0)) == inside[1]
