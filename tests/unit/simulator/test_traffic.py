"""Rates keep their totals, arrivals their variance, and both depend on nothing but seed, tenant and day."""

import numpy as np
import pytest

from simulator.traces import TRACE_STEP_S
from simulator.traffic import DAY_S, continuous, mean_per_s, minute_arrivals, second_arrivals
from tests.builders.engines import tenant

STEPS = DAY_S // TRACE_STEP_S
RNG = np.random.default_rng(5)
JUMPY = RNG.choice([0.0, 0.3, 5.0, 80.0], STEPS)
SMOOTH = 5 + 4 * np.sin(np.arange(STEPS) / 20)


@pytest.mark.parametrize("rates", [JUMPY, SMOOTH], ids=["jumpy", "smooth"])
@pytest.mark.parametrize("step_s", [1, 60])
def test_the_mean_of_every_step_is_kept(rates, step_s):
    means = mean_per_s(tenant(rates), 0, step_s)
    assert np.allclose(rates, means.reshape(STEPS, -1).mean(axis=1))


@pytest.mark.parametrize("rates", [JUMPY, SMOOTH], ids=["jumpy", "smooth"])
def test_a_rate_is_never_negative_and_at_most_a_quarter_above_the_mean_of_its_step(rates):
    _, values = continuous(rates)
    assert values.min() >= 0
    assert values[1::3].max() <= 1.25 * rates.max() + 1e-9


def test_a_rate_does_not_jump():
    """Between two seconds it moves at most by a ramp's part of the step between levels."""
    rates = mean_per_s(tenant(JUMPY), 0, 1)
    assert np.abs(np.diff(rates)).max() <= 1.25 * 80 / 120 + 1e-9


def test_nothing_arrives_in_a_step_without_requests():
    counts = second_arrivals(tenant(JUMPY, cv=2.0), 0, seed=1).reshape(STEPS, -1)
    assert 0 == counts[JUMPY == 0].sum()


def test_seconds_add_up_to_minutes():
    for cv in (0.4, 1.0, 3.0, 40.0):
        one = tenant(JUMPY, cv=cv)
        by_second = second_arrivals(one, 0, seed=3)
        assert minute_arrivals(one, 0, seed=3).tolist() == by_second.reshape(-1, 60).sum(axis=1).tolist()
        assert 0 <= by_second.min()


@pytest.mark.parametrize("cv", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("window_s", [10, 60])
def test_counts_vary_as_those_of_a_renewal_process(cv, window_s):
    """Variance over mean of counts is the squared coefficient of variation of the gaps, 1/6 for rounding."""
    counts = second_arrivals(tenant(np.full(STEPS, 40.0), cv=cv), 0, seed=2).reshape(-1, window_s).sum(axis=1)
    assert pytest.approx(cv**2 + 1 / (6 * 40 * window_s), rel=0.12) == counts.var() / counts.mean()
    assert pytest.approx(40 * window_s, rel=0.02) == counts.mean()


def test_the_same_seed_gives_the_same_requests_and_another_gives_others():
    one = tenant(SMOOTH)
    assert np.array_equal(second_arrivals(one, 0, seed=1), second_arrivals(one, 0, seed=1))
    assert not np.array_equal(second_arrivals(one, 0, seed=1), second_arrivals(one, 0, seed=2))


def test_tenants_and_days_do_not_share_their_luck():
    week = np.tile(SMOOTH, 2)
    a, b = tenant(week, "a"), tenant(week, "b")
    assert not np.array_equal(minute_arrivals(a, 0, seed=1), minute_arrivals(b, 0, seed=1))
    level = tenant(np.full(2 * STEPS, 5.0))
    assert not np.array_equal(minute_arrivals(level, 0, seed=1), minute_arrivals(level, 1, seed=1))


def test_a_day_is_the_same_whether_or_not_another_was_drawn_before():
    two = tenant(np.tile(SMOOTH, 2))
    first = second_arrivals(two, 1, seed=1)
    second_arrivals(two, 0, seed=1)
    assert np.array_equal(first, second_arrivals(two, 1, seed=1))


def test_whole_days_are_counted():
    assert 2 == tenant(np.ones(2 * STEPS + 5)).days
