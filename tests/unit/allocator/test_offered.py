"""What nodes offer is what cards are cut into, or can be cut into by claims."""

from dataclasses import replace

import pytest

from allocator.room import is_offered
from fleet.mig import Placement
from fleet.shape import Shape
from tests.builders.fleet import consumable, cut, fleet, shape, time_sliced

HALF_AND_SEVENTH = cut(Placement("3g.40gb", 0), Placement("1g.10gb", 6))
PAIR = Shape("h100-80gb", cards=2)


@pytest.mark.parametrize(
    ("seen", "wanted", "is_there"),
    [
        (fleet(1), shape("whole"), True),
        (fleet(1), shape("3g.40gb"), True),
        (fleet(1, foreign=[("node-0", "gpu-0")]), shape("whole"), True),
        (HALF_AND_SEVENTH, shape("3g.40gb"), True),
        (HALF_AND_SEVENTH, shape("1g.10gb"), True),
        (HALF_AND_SEVENTH, shape("2g.20gb"), False),
        (HALF_AND_SEVENTH, shape("whole"), False),
        (fleet(2), PAIR, True),
        (fleet(2, per_node=1), PAIR, False),
        (time_sliced(1, 2), shape("50/100"), True),
        (time_sliced(1, 2), shape("whole"), False),
        (consumable(1), shape("25/100"), True),
        (consumable(1), shape("30/100"), False),
        (fleet(1), Shape("a100-80gb"), False),
        (replace(fleet(1), barred={shape("3g.40gb"): "no"}), shape("3g.40gb"), False),
    ],
)
def test_a_shape_is_offered_where_a_node_has_it_taken_or_free(seen, wanted, is_there):
    assert is_there is is_offered(seen, wanted)
