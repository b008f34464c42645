"""How large a standby pool is, and whose engines sleep together."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.pool import excess_slices, hosts, slices_for

NEEDS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=1, max_size=20)
)


def test_bursts_that_do_not_meet_share_their_insurance():
    apart = np.array([[3, 0], [0, 3]] * 10)

    assert 3 == slices_for(apart, 1.0)


def test_bursts_that_meet_are_paid_for_twice():
    assert 6 == slices_for(np.array([[3, 3], [0, 0]] * 10), 1.0)


@pytest.mark.parametrize(("quantile", "slices"), [(0.5, 10), (0.9, 18), (0.95, 19), (1.0, 19)])
def test_it_is_the_nearest_rank_of_one_more_than_was_seen(quantile, slices):
    assert slices == slices_for(np.arange(1, 20)[:, np.newaxis], quantile)


def test_before_anything_was_seen_there_is_none():
    assert 0 == slices_for(np.zeros((0, 3), dtype=np.int64), 0.9)


@given(needs=NEEDS, quantile=st.floats(0.01, 1.0))
def test_it_was_enough_for_at_least_its_share_of_the_time(needs, quantile):
    needed = np.array(needs)
    enough = (needed.sum(axis=1) <= slices_for(needed, quantile)).mean()

    assert enough >= min(quantile, len(needed) / (len(needed) + 1)) - 1e-9


def test_those_whose_bursts_meet_sleep_apart():
    first, second = np.array([5, 0, 0, 5]), np.array([0, 5, 5, 0])
    needed = np.stack([first, first, second, second], axis=1)

    assert all(len({0, 1} & set(group)) == 1 for group in hosts(needed, 2))


@given(needs=NEEDS, size=st.integers(1, 8))
def test_everyone_sleeps_in_one_group_that_is_not_too_large(needs, size):
    groups = hosts(np.array(needs), size)

    assert sorted(one for group in groups for one in group) == list(range(len(needs[0])))
    assert max(map(len, groups)) <= size


@pytest.mark.parametrize(
    ("expected", "work", "quiet"),
    [
        # Own capacity follows two steps late; before it is known, nothing counts.
        ([0, 0, 0, 2, 2, 0, 0], [1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0], 1),
        # It is kept for the quiet time, so that a second burst soon after finds it.
        ([0, 0, 2, 0, 0, 0, 0], [1.0, 1.0, 2.0, 1.0, 2.0, 1.0, 1.0], 3),
        ([0, 0, 0, 0, 2, 0, 0], [1.0, np.nan, 1.0, np.nan, 2.0, 1.0, np.nan], 3),
    ],
)
def test_what_own_capacity_that_follows_late_does_not_carry_needs_slices(expected, work, quiet):
    assert expected == excess_slices(np.array(work), 2, quiet, 0.5).tolist()


def test_at_a_lower_level_the_pool_carries_the_rest():
    assert [0, 0, 1, 1] == excess_slices(np.ones(4), 2, 1, 0.5, level=0.8).tolist()
