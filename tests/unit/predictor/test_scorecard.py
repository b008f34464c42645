"""Figures of a backtest, against some that were worked out by hand."""

import math

import numpy as np
import pytest

from predictor.backtest import LAST, LAST_WEEK, OURS, YESTERDAY, Told
from predictor.scorecard import band, card, geometric_mean, ratio

NAN = math.nan
CAME = np.array([10.0, 20.0, 10.0, 40.0])


def told(ours, last=None, week=None, came=CAME, newest=None, **others):
    said = {
        OURS: ours,
        LAST: last if last is not None else ours,
        LAST_WEEK: week if week is not None else ours,
    }
    said |= others
    came = np.asarray(came, dtype=float)
    return Told(
        is_scored=np.isfinite(came),
        newest=np.full(len(came), 10.0) if newest is None else np.asarray(newest, dtype=float),
        last_hour=np.full(len(came), 20.0),
        came=came,
        said={name: np.asarray(values, dtype=float)[:, None] for name, values in said.items()},
        is_cut=np.array([True] + [False] * (len(came) - 1)),
        usual=10.0,
    )


def figures(quantile=0.95, width=1, **given):
    return card(told(**given), (quantile,), width)


def test_losses_and_coverage():
    score = figures(quantile=0.9, ours=[20, 20, 20, 20]).scores[0.9][OURS]
    loss = (0.1 * 10 + 0 + 0.1 * 10 + 0.9 * 20) / 4
    assert (pytest.approx(loss), pytest.approx(loss / 20), 0.75) == (
        score.pinball,
        score.scaled_pinball,
        score.coverage,
    )


def test_rises_are_windows_far_above_the_newest_demand():
    one = figures(ours=[20, 20, 20, 20])
    assert (2, 0.5) == (one.rises, one.scores[0.95][OURS].coverage_on_rises)
    assert figures(ours=[20] * 4, newest=[40] * 4).scores[0.95][OURS].coverage_on_rises is None


def test_a_rise_from_next_to_nothing_is_none():
    assert 0 == figures(ours=[1] * 4, came=[0.9] * 4, newest=[0.1] * 4).rises


def test_the_bar_is_the_better_of_two_rules():
    one = figures(ours=[40] * 4, last=[60] * 4, week=[50] * 4)
    assert (LAST_WEEK, pytest.approx(20 / 30)) == (one.bar[0.95], one.ratio[0.95])
    assert LAST == figures(ours=[40] * 4, last=[45] * 4, week=[50] * 4).bar[0.95]


def test_skill_is_what_is_lost_less_than_a_method_loses():
    one = figures(ours=[40] * 4, last=[60] * 4)
    assert pytest.approx(0.5) == one.skill(0.95, LAST)
    assert one.skill(0.95, YESTERDAY) is None


def test_a_method_that_is_silent_somewhere_is_left_out():
    assert YESTERDAY not in figures(ours=[40] * 4, **{YESTERDAY: [1, NAN, 1, 1]}).scores[0.95]


def test_windows_that_are_not_known_are_not_scored():
    one = figures(ours=[40] * 5, came=[*CAME, NAN])
    assert (4, 0.25) == (one.windows, one.cut)
    assert card(told(ours=[1.0], came=[NAN]), (0.95,), 1) is None


def test_idle_capacity_beside_rules_with_hindsight():
    """To cover all four windows `last` needs a factor of 4, and the last hour one of 2; both hold 40 then."""
    idle = figures(ours=[10, 30, 20, 40]).idle
    assert (1.0, pytest.approx(20 / 4 / 20)) == (idle.coverage, idle.ours)
    held = pytest.approx((30 + 20 + 30) / 4 / 20)
    assert [held] * 4 == [idle.last_at_95, idle.hour_at_95, idle.last_at_same, idle.hour_at_same]


def test_a_rule_that_covers_with_no_factor_has_no_idle_capacity():
    assert math.inf == figures(ours=[40] * 4, newest=[0] * 4).idle.last_at_95


@pytest.mark.parametrize("given", [{"quantile": 0.9}, {"came": [0.0] * 4}])
def test_idle_capacity_is_of_95_and_of_some_demand(given):
    assert figures(ours=[40] * 4, **given).idle is None


def test_a_dead_series_is_as_good_for_all():
    assert {0.95: 1.0} == dict(figures(ours=[0] * 4, came=[0.0] * 4).ratio)


@pytest.mark.parametrize(
    ("ours", "other", "expected"), [(1, 2, 0.5), (0, 0, 1), (1e-12, 0, 1), (0, 2, 0), (1, 0, 1e8)]
)
def test_rounding_is_no_loss(ours, other, expected):
    assert pytest.approx(expected, rel=1e-3, abs=1e-8) == ratio(ours, other, usual=10.0)


def test_the_band_narrows_with_windows_that_do_not_overlap():
    low, high = band(0.95, 1000, 1)
    assert (pytest.approx(0.935, abs=0.002), pytest.approx(0.962, abs=0.002)) == (low, high)
    assert band(0.95, 6000, 6) == (low, high)
    assert band(0.95, 100, 1)[0] < low


def test_geometric_mean():
    assert pytest.approx(2) == geometric_mean([1, 4])
    with pytest.raises(ValueError, match="nothing"):
        geometric_mean([])
