"""Beds dealt by what is foreseen, where the past says nothing of it."""

import numpy as np
import pytest

from foreslice.proof.course import Course, Grid
from foreslice.proof.placed import PLANNED_EVERY_S, placing
from foreslice.proof.scene import Part, Piece
from predictor.value.ledger import Limits

STEP_S = 600
DAY = 86_400 // STEP_S
EVERY = PLANNED_EVERY_S // STEP_S
GRID = Grid(STEP_S, 0, DAY, 5 * DAY, EVERY, 600.0, Limits(1, 1))
TENANTS, SLEEPERS = 8, 3
PIECE = Piece("1/7", 1.0, 1.0, 1 / 7)


def courses(turn=5):
    """In each six hours another one bursts, three steps of every twelve."""
    made = []
    for tenant in range(TENANTS):
        steps = np.arange(GRID.steps)
        is_turn = (turn * (steps // EVERY)) % TENANTS == tenant
        work = 1.0 + 4.0 * (is_turn & (steps % 12 >= 9))
        part = Part(f"t{tenant}", STEP_S, work, PIECE, PIECE)
        made.append(Course(part, work, np.ones(len(work), np.bool_), work[np.newaxis]))
    return made


def peaks():
    """The highest of the next six hours."""
    work = np.stack([one.demand for one in courses()])
    padded = np.concatenate([work, np.zeros((TENANTS, EVERY))], axis=1)
    return list(np.lib.stride_tricks.sliding_window_view(padded, EVERY, axis=1).max(axis=2)[:, : GRID.steps])


def placed(ahead, sleepers=SLEEPERS):
    return placing(courses(), ahead, GRID, sleepers, 0.0)


def test_a_forecast_that_knows_who_comes_next_leaves_less():
    """Not nothing: nobody's risk is below what it usually was, and all of them burst before."""
    found = placed(peaks())
    assert 0 < found.ratio < 1.0
    assert found.interval[0] <= found.ratio <= found.interval[1]


def test_a_forecast_that_says_nothing_changes_nothing():
    found = placed([np.zeros(GRID.steps)] * TENANTS)
    assert 0 < found.by_past.sum()
    assert (1.0, (1.0, 1.0)) == (found.ratio, found.interval)


def test_where_all_sleep_everywhere_there_is_nothing_to_place():
    found = placed(peaks(), sleepers=TENANTS)
    assert pytest.approx(0.0) == found.by_past.sum() == found.by_forecast.sum()
