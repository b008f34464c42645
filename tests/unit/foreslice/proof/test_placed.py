"""Beds dealt by what is foreseen, where the past says nothing of it."""

import numpy as np
import pytest

from foreslice.proof.course import Grid
from foreslice.proof.placed import PLANNED_EVERY_S, placing
from predictor.value.ledger import Limits
from simulator.pool import Excess

STEP_S = 600
DAY = 86_400 // STEP_S
EVERY = PLANNED_EVERY_S // STEP_S
GRID = Grid(STEP_S, 0, DAY, 5 * DAY, EVERY, 600.0, Limits(1, 1))
TENANTS = 8


def excess():
    """In each six hours one of eight needs four slices all the time, each in its turn."""
    needed = np.zeros((GRID.steps, TENANTS))
    for plan in range(GRID.steps // EVERY):
        needed[plan * EVERY : (plan + 1) * EVERY, (5 * plan) % TENANTS] = 4.0
    return Excess.of(needed, 1.0)


def placed(ahead, slices=4, sleepers=3):
    return placing(excess(), ahead, GRID, (slices, sleepers), 0.0)


def test_a_forecast_that_knows_who_comes_next_leaves_less():
    """Not nothing: nobody's risk is below what it usually was, and all of them burst before."""
    found = placed(excess().needed.astype(np.float64))
    assert 0 < found.ratio < 1.0
    assert found.interval[0] <= found.ratio <= found.interval[1]


def test_a_forecast_that_says_nothing_changes_nothing():
    found = placed(np.zeros((GRID.steps, TENANTS)))
    assert (1.0, (1.0, 1.0)) == (found.ratio, found.interval)


def test_where_all_sleep_everywhere_there_is_nothing_to_place():
    found = placed(excess().needed.astype(np.float64), sleepers=TENANTS)
    assert pytest.approx(0.0) == found.by_past.sum() == found.by_forecast.sum()
