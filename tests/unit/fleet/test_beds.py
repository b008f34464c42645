"""Memory of a standby pool: one awake beside the contexts of all others."""

import pytest

from fleet.ledgers.beds import ENOUGH, Bed, Highest, Measured, share_for_one_awake


@pytest.mark.parametrize(
    ("expected", "memory_gib", "sleepers"),
    [(0.895, 80.0, 8), (0.79, 40.0, 8), (0.1385, 9.75, 8), (1.0, 80.0, 1), (0.0, 9.75, 10)],
)
def test_the_one_awake_may_take_what_the_contexts_of_the_others_leave(expected, memory_gib, sleepers):
    assert pytest.approx(expected, abs=1e-3) == share_for_one_awake(memory_gib, sleepers)


@pytest.mark.parametrize(
    ("expected_gib", "readings", "highest_gib"),
    [(1.2, 0, 0.0), (1.2, ENOUGH - 1, 0.7), (16.0, 1, 16.0), (0.7, ENOUGH, 0.7), (1.3, ENOUGH, 1.3)],
)
def test_a_prior_stands_until_enough_was_read_and_what_was_read_is_never_undercut(
    expected_gib, readings, highest_gib
):
    assert expected_gib == Measured(context=Highest(readings, highest_gib)).of(Bed(60.0, 14.0)).context_gib


@pytest.mark.parametrize(("expected_gib", "highest_gib"), [(14.0, 3.0), (18.5, 18.5)])
def test_weights_are_in_host_memory_even_where_no_counter_sees_them(expected_gib, highest_gib):
    assert expected_gib == Measured(host=Highest(ENOUGH, highest_gib)).of(Bed(60.0, 14.0)).host_gib
