"""Memory of a standby pool: one awake beside the contexts of all others."""

import pytest

from fleet.ledgers.beds import share_for_one_awake


@pytest.mark.parametrize(
    ("expected", "memory_gib", "sleepers"),
    [(0.895, 80.0, 8), (0.79, 40.0, 8), (0.1385, 9.75, 8), (1.0, 80.0, 1), (0.0, 9.75, 10)],
)
def test_the_one_awake_may_take_what_the_contexts_of_the_others_leave(expected, memory_gib, sleepers):
    assert pytest.approx(expected, abs=1e-3) == share_for_one_awake(memory_gib, sleepers)
