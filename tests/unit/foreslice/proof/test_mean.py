"""Averages of settings: what they want, what they are called, and which rules are averaged in hindsight."""

from dataclasses import replace

import numpy as np
import pytest

from foreslice.proof import books, mean
from foreslice.proof.mean import FACTORS, Mean, in_hindsight, near_cheapest, wanted_on
from foreslice.proof.setting import FORECASTS, HOLDS, Rule, Setting
from tests.unit.foreslice.proof.test_sweep import grid_and_course

LAST, HOUR = (Setting(Rule.HOLD, minutes, 1.5) for minutes in (1, 60))
AHEAD = Setting(Rule.FORECAST, 0.9, 1.2)
RESIDUAL = Setting(Rule.RESIDUAL, 0.9)


def test_an_average_wants_what_its_settings_want_on_average():
    grid, course = grid_and_course(sees=True)
    one, other = (setting.target(course, grid, grid.limits) for setting in (AHEAD, HOUR))
    both = Mean((AHEAD, HOUR))
    np.testing.assert_allclose((one + other) / 2, both.target(course, grid, grid.limits))
    np.testing.assert_allclose((one + other) / 2, wanted_on(course, grid)(both))


def test_averages_of_rules_are_swept_and_each_is_accounted_as_its_target():
    grid, course = grid_and_course(sees=True)
    means = [Mean((RESIDUAL, HOUR)), Mean((LAST, HOUR))]
    account = mean.book(means, [course], grid)
    assert tuple(one.times(factor) for one in means for factor in FACTORS) == account.knobs
    assert pytest.approx((0.85, 1.0, 1 / 0.85)) == tuple(FACTORS[[0, 6, 12]])
    for at, one in enumerate(account.knobs):
        target = one.target(course, grid, grid.limits)[np.newaxis]
        alone = books.in_cards(course, grid, target, np.ones(1), grid.limits)
        np.testing.assert_allclose(alone.held[0], account.total.held[at])
        np.testing.assert_allclose(alone.lacked[0], account.total.lacked[at])


@pytest.mark.parametrize(("expected", "settings"), [(0.0, (LAST,)), (0.5, (LAST, AHEAD)), (1.0, (AHEAD,))])
def test_the_say_of_forecasts_is_their_share(expected, settings):
    assert expected == Mean(settings).say


def test_an_average_is_called_by_what_it_averages():
    assert "1.5 x last" == str(Mean((LAST,)))
    assert "mean of 1.5 x last, 1.2 x forecast q0.9" == str(Mean((LAST, AHEAD)))
    both = Mean((LAST, RESIDUAL))
    assert "mean of 1.5 x last, last + residual q0.9" == str(both)
    assert "mean of 1.65 x last, 1.1 x (last + residual q0.9)" == str(both.times(1.1))


def test_where_nothing_leaves_so_little_nothing_is_averaged():
    assert near_cheapest((LAST,), np.array([0.2]), np.array([1.0]), 0.1) is None


def test_only_settings_are_averaged():
    with pytest.raises(TypeError, match="only settings"):
        near_cheapest(("margin 1.2",), np.zeros(1), np.ones(1), 0.1)


def test_the_best_rule_may_average_too():
    grid, course = grid_and_course(sees=True)
    slow = 2.0 + np.sin(np.arange(grid.steps) / 20.0) + np.random.default_rng(2).uniform(0, 1, grid.steps)
    rules = books.book([replace(course, demand=slow)], grid, HOLDS)
    found = in_hindsight(rules, 0.05)
    assert found
    for one in found:
        assert len(one.settings) > 1
        assert one.say == 0.0
        held = [float(rules.only(rules.knobs.index(setting)).total.held.sum()) for setting in one.settings]
        assert max(held) <= 1.05 * min(held)
        assert len({setting.on for setting in one.settings}) == len(held)


def test_an_average_of_rules_is_no_average_of_one():
    grid, course = grid_and_course(sees=True)
    assert [] == in_hindsight(books.book([course], grid, FORECASTS[:1]), 0.05)
