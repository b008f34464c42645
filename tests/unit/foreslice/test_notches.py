"""The quantile of a tier follows what goes unserved: a notch a week, until no more does than may."""

import numpy as np
import pytest

from fleet.demand import QUANTILES, Unserved
from fleet.workload import Tier
from foreslice.notches import WEEK_S, Notches

ALLOWED = Tier.BALANCED.unserved_share


def week_of(*shares, days=7):
    return {Tier.BALANCED: [Unserved(tuple(100.0 * share for share in shares), 100.0, days)]}


def after(*weeks):
    """The quantile after each week."""
    notches, found = Notches(), []
    notches.turn(0.0, {})
    for number, unserved in enumerate(weeks, start=1):
        notches.turn(number * WEEK_S, unserved)
        found.append(notches.of(Tier.BALANCED))
    return found


TOO_LITTLE = week_of(0.05, 0.04, 0.03, 0.02, 0.01)
TOO_MUCH = week_of(0.003, 0.002, 0.001, 0.0, 0.0)
RIGHT = week_of(0.02, 0.01, 0.004, 0.001, 0.0)


@pytest.mark.parametrize(
    ("weeks", "expected"),
    [
        ([TOO_LITTLE] * 3, [0.97, 0.99, 0.99]),
        ([TOO_MUCH] * 3, [0.925, 0.9, 0.9]),
        ([RIGHT] * 3, [0.95, 0.95, 0.95]),
        ([week_of(0.05, 0.04, 0.03, 0.02, 0.01, days=6)], [0.95]),
        ([{}], [0.95]),
    ],
    ids=["more goes unserved than may", "less would do", "as it should be", "too few days", "nothing known"],
)
def test_a_quantile_moves_by_one_notch_a_week(weeks, expected):
    assert expected == after(*weeks)


def test_two_weeks_count():
    assert [0.97, 0.99] == after(TOO_LITTLE, week_of(0.0, 0.0, 0.0, 0.0, 0.0))


def test_within_a_week_nothing_moves():
    notches = Notches()
    notches.turn(0.0, {})
    for at_s in range(0, int(WEEK_S), 3600):
        notches.turn(float(at_s), TOO_LITTLE)
    assert 0.95 == notches.of(Tier.BALANCED)


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.6])
def test_forecasts_that_are_off_by_a_factor_come_to_leave_what_the_tier_allows(scale):
    """Demand is log-normal; what is said of it are its quantiles times a factor that nobody knows."""
    random, notches, late = np.random.default_rng(4), Notches(), []
    said = scale * np.quantile(np.exp(0.25 * random.normal(size=100_000)), QUANTILES)
    notches.turn(0.0, {})
    for week in range(1, 21):
        came = np.exp(0.25 * random.normal(size=2016))
        lacked = np.maximum(came - said[:, None], 0.0).sum(axis=1)
        late.append(lacked[QUANTILES.index(notches.of(Tier.BALANCED))] / came.sum())
        notches.turn(week * WEEK_S, {Tier.BALANCED: [Unserved(tuple(lacked), came.sum(), 7)]})
    assert np.mean(late[10:]) <= 1.5 * ALLOWED
    assert {0.9: 0.99, 1.0: 0.97, 1.6: 0.9}[scale] == notches.of(Tier.BALANCED)
