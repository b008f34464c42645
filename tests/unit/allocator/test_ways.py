"""A floor is decided on within its owner's bounds, and on his own shape."""

from dataclasses import replace

import pytest

from allocator.ways import within_reach
from fleet.shape import Configuration
from fleet.workload import Limits, Way
from fleet.writers import Scaler
from tests.builders.deciding import offers, workload
from tests.builders.fleet import shape, standing

WHOLE = shape("whole")
OFFERS = offers({"whole": 1.0, "3g.40gb": 0.4})


def reach(limits=(1, 64), floor=2, most=8, before=None, way=Way.FLOOR):
    stands = standing("chat", "5 x whole", scalers=(Scaler("ScaledObject", "q", floor, most, "1"),))
    stands = replace(stands, before=Configuration({WHOLE: before}) if before else None)
    return within_reach(replace(workload(), limits=Limits(*limits), way=way), stands, OFFERS)


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ((2, 8), {}),
        ((2, 6), {"limits": (1, 6)}),
        ((3, 8), {"limits": (3, 64)}),
        ((1, 8), {"floor": 5, "before": 1}),
        ((4, 4), {"limits": (6, 64), "most": 4}),
    ],
)
def test_it_moves_within_the_bounds_of_its_owner(expected, given):
    bounded, held = reach(**given)
    assert expected == (bounded.limits.min_replicas, bounded.limits.max_replicas)
    assert {WHOLE} == set(held.by_shape)


def test_replicas_of_our_own_are_bounded_by_settings_alone():
    bounded, held = reach(way=Way.OWN)
    assert (Limits(1, 64), OFFERS) == (bounded.limits, held)


def test_where_its_own_deployment_is_switched_every_shape_is_within_reach():
    stands = standing("chat", "5 x whole", scalers=(Scaler("ScaledObject", "q", 2, 8, "1"),))
    stands = replace(stands, switches=True)
    bounded, held = within_reach(replace(workload(), way=Way.FLOOR), stands, OFFERS)
    assert OFFERS == held
    assert (2, 8) == (bounded.limits.min_replicas, bounded.limits.max_replicas)
