"""How far demand repeats itself."""

import numpy as np
import pytest

from predictor.season import season_strength
from predictor.steps import DAY_S
from tests.builders.demand import DAY, office, steps


def test_office_hours_repeat_themselves_by_day():
    assert season_strength(steps(office(6)), DAY_S) > 0.95


def test_noise_does_not():
    values = np.random.default_rng(0).uniform(1, 2, 20 * DAY)
    assert pytest.approx(0, abs=0.1) == season_strength(steps(values), DAY_S)


@pytest.mark.parametrize("values", [office(1.9), office(0.4), np.ones(5 * DAY), np.full(5 * DAY, np.nan)])
def test_it_is_unknown_of_short_constant_and_unknown_histories(values):
    assert season_strength(steps(values), DAY_S) is None


def test_gaps_are_left_out():
    values = office(6)
    values[100:130] = np.nan
    assert season_strength(steps(values), DAY_S) > 0.9
