"""Models refitted as time goes by."""

import numpy as np
import pytest

from predictor.calendar import Calendar
from predictor.features import features
from predictor.rolling import refit_times, roll
from predictor.steps import DAY_S
from tests.builders.demand import DAY, office, steps
from tests.builders.recipes import RECIPES


def rolled(*series, first_day=4):
    tables = [features(one, (3600,), Calendar()) for one in series]
    first_s = [one.start_s + first_day * DAY_S for one in series]
    return roll(series, tables, first_s, (0.9,), RECIPES, lambda *_: None)


def days(starts, ends, firsts):
    """When a fleet is refitted, in days."""
    at = refit_times(*([DAY_S * day for day in row] for row in (starts, ends, firsts)))
    return [at_s / DAY_S for at_s in at]


@pytest.mark.parametrize(
    ("starts", "ends", "firsts", "expected"),
    [
        ([0], [40], [18], [18, 19, 20, 21, 28, 35]),
        ([0, 1], [5, 5], [4, 3], [3, 4]),
        ([0, 20], [50, 23], [21, 23], [21, 22, 23, 30, 37, 44]),
        ([0, 9], [5, 12], [3, 11], [3, 4, 9, 10, 11]),
    ],
    ids=["weekly once history is long", "the first that is due", "daily for a young one", "nothing is there"],
)
def test_when_a_fleet_is_refitted(starts, ends, firsts, expected):
    assert expected == days(starts, ends, firsts)


def test_nothing_is_said_before_the_first_fit():
    ((logs,),) = [list(one.values()) for one in rolled(steps(office(4.5)))]
    said = np.isfinite(logs.learned[:, 0, 0])
    assert not said[: 4 * DAY - 1].any()
    assert said[4 * DAY :].all()


def test_only_series_in_company_have_a_model_in_common():
    ((alone,),) = [list(one.values()) for one in rolled(steps(office(4.5)))]
    assert np.isnan(alone.learned[:, 1]).all()


def test_what_is_said_knows_nothing_later():
    values, now = office(4.5), 4 * DAY + 7
    later = np.append(values[: now + 1], 1e5 * np.ones(len(values) - now - 1))
    ours, theirs = (rolled(steps(one))[0][3600] for one in (values, later))
    np.testing.assert_array_equal(ours.learned[: now + 1], theirs.learned[: now + 1])
    np.testing.assert_array_equal(ours.anchored[: now + 1], theirs.anchored[: now + 1])


def test_a_new_series_is_served_by_what_others_have_taught():
    first, second = steps(office(4.2)), steps(office(1, seed=1), start_s=5 * DAY_S)
    (alone, new) = (one[3600] for one in rolled(first, second))
    assert np.isnan(new.learned[:, 0]).all()
    assert np.isfinite(new.learned[:, 1]).all()
    assert np.isfinite(alone.learned[4 * DAY :, 0]).all()
