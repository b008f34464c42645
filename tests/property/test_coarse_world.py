"""What holds of the coarse world whatever comes: more replicas and shorter lags leave no more unserved."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from predictor.value.ledger import Limits, foreknown, ledger

WORK = arrays(np.float64, st.integers(20, 80), elements=st.floats(0.0, 9.0, width=32))


def came(work, target, limits, factor=1.0):
    counts = np.ones(len(work), np.bool_)
    return ledger(target[np.newaxis], np.array([factor]), work, counts, limits, len(work))


@given(WORK, st.integers(0, 6), st.integers(1, 6), st.floats(1.0, 3.0))
def test_more_replicas_never_leave_more_unserved_nor_cost_less(work, lag, quiet, more):
    few, many = (came(work, work, Limits(lag, quiet, 0.5), factor) for factor in (1.0, more))
    assert many.lacked <= few.lacked + 1e-9
    assert many.held >= few.held - 1e-9


@given(WORK, st.integers(0, 6), st.integers(1, 6))
def test_a_shorter_lag_never_leaves_more_unserved_and_costs_the_same(work, lag, quiet):
    late, soon = (came(work, work, Limits(one, quiet, 0.5)) for one in (lag + 1, lag))
    assert soon.lacked <= late.lacked + 1e-9
    assert soon.held == late.held


@given(WORK, st.integers(0, 6), st.integers(1, 6))
def test_who_knows_what_comes_leaves_nothing_and_no_one_who_leaves_nothing_holds_less(work, lag, quiet):
    """But for the steps before the first order is ready; without lag and quiet time is a bound for all."""
    limits, bound = Limits(lag, quiet, 0.5), Limits(0, 1, 0.5)
    known, least = (
        came(work, foreknown(work, limits)[0], limits),
        came(work, foreknown(work, bound)[0], bound),
    )
    assert known.held >= least.held - 1e-9
    started = lag + 1
    later = ledger(
        foreknown(work, limits), np.ones(1), work, np.arange(len(work)) >= started, limits, len(work)
    )
    assert later.lacked.sum() <= 1e-9
