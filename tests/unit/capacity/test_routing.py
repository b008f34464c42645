"""What a router lets a configuration carry."""

import pytest

from capacity.routing import carried
from fleet.shape import Configuration, Shape
from fleet.workload import Router

LARGE, MIDDLE, SMALL = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb"), Shape("h100-80gb", "1g.10gb")
CAPACITIES = {LARGE: 1.0, MIDDLE: 0.5, SMALL: 0.1}


@pytest.mark.parametrize(
    ("counts", "equal", "by_load"),
    [
        ({}, 0.0, 0.0),
        ({LARGE: 0}, 0.0, 0.0),
        ({LARGE: 1}, 1.0, 1.0),
        ({LARGE: 3}, 3.0, 3.0),
        ({MIDDLE: 4}, 2.0, 2.0),
        ({LARGE: 1, MIDDLE: 1}, 1.0, 1.5),
        ({LARGE: 2, SMALL: 1}, 0.3, 2.1),
        ({LARGE: 1, MIDDLE: 2, SMALL: 3}, 0.6, 2.3),
    ],
)
def test_equal_shares_are_limited_by_the_smallest_replica(counts, equal, by_load):
    configuration = Configuration(counts)

    assert equal == pytest.approx(carried(configuration, CAPACITIES, Router.EQUAL))
    assert by_load == pytest.approx(carried(configuration, CAPACITIES, Router.LEAST_LOADED))
    assert by_load == pytest.approx(carried(configuration, CAPACITIES, Router.WEIGHTED))


def test_a_small_replica_behind_equal_shares_can_take_capacity_away():
    before = carried(Configuration({LARGE: 2}), CAPACITIES, Router.EQUAL)

    assert carried(Configuration({LARGE: 2, SMALL: 1}), CAPACITIES, Router.EQUAL) < before


def test_a_shape_without_replicas_does_not_limit():
    assert 2.0 == carried(Configuration({LARGE: 2, SMALL: 0}), CAPACITIES, Router.EQUAL)


def test_a_replica_that_cannot_serve_carries_nothing():
    useless = CAPACITIES | {SMALL: 0.0}

    assert 0.0 == carried(Configuration({LARGE: 2, SMALL: 1}), useless, Router.EQUAL)
    assert 2.0 == carried(Configuration({LARGE: 2, SMALL: 1}), useless, Router.LEAST_LOADED)
