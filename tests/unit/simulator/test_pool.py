"""Who gets the slices of a standby pool, and what that serves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.pool import Excess, dealt, served, woken

LACKED = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(st.floats(0, 3), min_size=n, max_size=n), min_size=1, max_size=6)
)


def excess(*steps):
    return Excess.of(np.array(steps, dtype=float), 1.0)


def slices(*counts):
    return np.array(counts)


@pytest.mark.parametrize(
    ("there", "gets"),
    [(0, [0, 0, 0]), (1, [1, 0, 0]), (2, [2, 0, 0]), (3, [2, 0, 1]), (4, [2, 1, 1]), (9, [2, 1, 1])],
)
def test_filled_slices_come_first_then_the_fullest(there, gets):
    assert [gets] == dealt(excess([2.0, 0.3, 0.8]), slices(there)).tolist()


def test_what_wakes_at_once_serves_all_that_it_was_woken_for():
    needs = excess([1.0, 0.3])

    assert [[1.0, 0.3]] == served(needs, dealt(needs, slices(2)), 0.0).round(9).tolist()


def test_while_it_wakes_slices_are_where_they_were():
    steps = excess([1.0, 0.0], [0.0, 1.0])

    assert [[1.0, 0.0], [0.0, 0.5]] == served(steps, dealt(steps, slices(1, 1)), 0.5).tolist()


def test_wakes_are_counted_where_more_is_woken():
    gets = dealt(excess([1.0, 0.0], [0.0, 2.0], [0.0, 2.0]), slices(2, 2, 2))

    assert [[0, 0], [0, 2], [0, 0]] == woken(gets).tolist()


@given(lacked=LACKED, there=st.integers(0, 8), late=st.floats(0, 1))
def test_no_slice_is_given_twice_and_nothing_is_served_that_was_not_asked(lacked, there, late):
    needs = Excess.of(np.array(lacked), 1.0)
    gets = dealt(needs, np.full(len(lacked), there))
    came = served(needs, gets, late)

    assert (gets.sum(axis=1) == np.minimum(there, needs.needed.sum(axis=1))).all()
    assert (came <= needs.full + needs.part + 1e-9).all()
    assert (came.sum(axis=1) <= there + 1e-9).all()


@given(lacked=LACKED, there=st.integers(0, 8))
def test_a_slice_more_serves_no_less(lacked, there):
    needs = Excess.of(np.array(lacked), 1.0)
    gets = (dealt(needs, np.full(len(lacked), n)) for n in (there, there + 1))
    fewer, more = (served(needs, each, 0.0).sum() for each in gets)

    assert more >= fewer - 1e-9
