"""Memory of a standby pool: one awake beside the contexts of all others."""

import pytest

from fleet.ledgers.beds import Bed, device_gib, share_for_one_awake, sleepers_at_most


@pytest.mark.parametrize(
    ("expected", "memory_gib", "awake_gib"),
    [(8, 80.0, 71.0), (1, 80.0, 79.0), (0, 80.0, 80.1), (7, 9.75, 2.5)],
)
def test_so_many_engines_share_a_slice_as_contexts_fit_beside_one_awake(expected, memory_gib, awake_gib):
    assert expected == sleepers_at_most(memory_gib, awake_gib)


@pytest.mark.parametrize(("expected", "memory_gib"), [(0.895, 80.0), (0.79, 40.0), (0.1385, 9.75)])
def test_of_eight_the_one_awake_may_take_what_seven_contexts_leave(expected, memory_gib):
    assert pytest.approx(expected, abs=1e-3) == share_for_one_awake(memory_gib, 8)


def test_the_device_holds_contexts_of_those_asleep_and_all_of_those_awake():
    bed = Bed(70.0, 14.0)
    assert pytest.approx(73.6) == device_gib([bed] * 3, [bed])
