"""Rungs are made in a child process, one at a time, and what goes wrong there stays there."""

import os
import signal
import time
from multiprocessing import active_children

import numpy as np
import pytest

from foreslice.training import AHEAD, Workshop, here
from tests.builders.recipes import OWN
from tests.builders.work import DAY, series

PATIENCE_S = 60


@pytest.fixture
def history():
    """Too short for a rung: the child answers at once."""
    return series(np.ones(DAY))


@pytest.fixture
def children():
    """Return the processes that were begun since; a workshop that nobody uses keeps its own for a while."""
    before = set(active_children())
    return lambda: [child for child in active_children() if child not in before]


def test_rungs_are_made_elsewhere_one_by_one_and_few_wait(history, children):
    workshop = Workshop(OWN)
    asked = [workshop.train(history, {}) for _ in range(AHEAD + 2)]
    assert asked[-1] is None, "the child has hardly begun with the first"
    assert [None] * (AHEAD + 1) == [one.result(PATIENCE_S) for one in asked[:-1]]
    assert 1 == len(children())
    assert workshop.train(history, {}).result(PATIENCE_S) is None


def test_a_child_that_was_killed_is_replaced(history, children):
    workshop = Workshop(OWN)
    assert workshop.train(history, {}).result(PATIENCE_S) is None
    (child,) = children()
    os.kill(child.pid, signal.SIGKILL)
    until_s = time.monotonic() + PATIENCE_S
    made = workshop.train(history, {})
    while made.exception(PATIENCE_S) is not None and time.monotonic() < until_s:
        made = workshop.train(history, {})
    assert made.result() is None


def test_a_failure_is_kept_and_the_next_one_goes_on(history):
    workshop = Workshop(OWN)
    failed, next_one = workshop.train(None, {}), workshop.train(history, {})
    with pytest.raises(AttributeError):
        failed.result(PATIENCE_S)
    assert next_one.result(PATIENCE_S) is None


def test_a_replay_makes_them_on_the_spot(history):
    assert here(OWN)(history, {}).done()
