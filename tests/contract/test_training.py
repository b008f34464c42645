"""Rungs are made in a child process, one at a time, and what goes wrong there stays there."""

import os
import signal
import time
from multiprocessing import active_children

import numpy as np
import pytest

from foreslice.training import Workshop, here
from tests.builders.recipes import OWN
from tests.builders.work import DAY, series

PATIENCE_S = 60


@pytest.fixture
def history():
    """Too short for a rung: the child answers at once."""
    return series(np.ones(DAY))


def asked(workshop, history):
    """Ask until the workshop is free."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        made = workshop.train(history, {})
        if made is not None:
            return made
        time.sleep(0.01)
    raise TimeoutError


def test_a_rung_is_made_elsewhere_one_at_a_time(history):
    workshop = Workshop(OWN)
    first = workshop.train(history, {})
    assert first is not None
    assert workshop.train(history, {}) is None or first.done()
    assert first.result(PATIENCE_S) is None
    assert asked(workshop, history).result(PATIENCE_S) is None


def test_a_child_that_was_killed_is_replaced(history):
    workshop = Workshop(OWN)
    assert workshop.train(history, {}).result(PATIENCE_S) is None
    (child,) = active_children()
    os.kill(child.pid, signal.SIGKILL)
    until_s = time.monotonic() + PATIENCE_S
    made = asked(workshop, history)
    while made.exception(PATIENCE_S) is not None and time.monotonic() < until_s:
        made = asked(workshop, history)
    assert made.result() is None


def test_a_failure_is_kept_and_the_next_one_goes_on(history):
    workshop = Workshop(OWN)
    with pytest.raises(AttributeError):
        workshop.train(None, {}).result(PATIENCE_S)
    assert asked(workshop, history).result(PATIENCE_S) is None


def test_a_replay_makes_them_on_the_spot(history):
    assert here(OWN)(history, {}).done()
