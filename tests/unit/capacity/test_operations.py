"""Points are merged where they are one operating point, and forgotten when they are old."""

from dataclasses import replace

import pytest

from capacity.catalogue import MODELS
from capacity.fit import Point
from capacity.operations import MEMORY_S, WEIGHT, Operations
from capacity.prior import prior
from fleet.boards import H100_80GB
from fleet.demand import Mix
from fleet.shape import Shape

WHOLE, CUT = Shape("h100-80gb"), Shape("h100-80gb", "3g.40gb")
PRIORS = {shape: prior(MODELS["qwen2.5-7b-bf16"], H100_80GB, shape) for shape in (WHOLE, CUT)}
POINT = Point(WHOLE, Mix(1000.0, 250.0), batch=10.0, itl_ms=10.0, ttft_ms=50.0, requests=100.0)


def seen(*points, every_s=60.0):
    operations = Operations()
    for number, point in enumerate(points):
        operations.add(point, PRIORS[point.shape], number * every_s)
    return operations.points((len(points) - 1) * every_s)


def test_a_point_is_kept_as_it_is():
    assert (POINT,) == seen(POINT)


def test_points_that_are_alike_are_one_with_their_mean():
    (merged,) = seen(POINT, replace(POINT, batch=10.2, itl_ms=10.4, ttft_ms=54.0, requests=200.0))

    assert (10.1, 10.2, 52.0) == pytest.approx((merged.batch, merged.itl_ms, merged.ttft_ms))


def test_what_was_seen_often_rests_on_more_requests():
    one, few, many = (seen(*[POINT] * times)[0].requests for times in (1, 3, 500))

    assert one < few < many < 2 * WEIGHT * 100


@pytest.mark.parametrize(
    "other",
    [
        replace(POINT, shape=CUT),
        replace(POINT, batch=40.0),
        replace(POINT, mix=Mix(4000.0, 250.0)),
        replace(POINT, ttft_ms=None),
    ],
    ids=["shape", "load", "prompts", "queued"],
)
def test_points_that_differ_are_kept_apart(other):
    assert {POINT, other} == set(seen(POINT, other))


def test_what_is_new_replaces_what_is_old_in_time():
    """Three times the memory of one operating point later, all but a twentieth of the old mean is gone."""
    (merged,) = seen(*[POINT] * 100, *[replace(POINT, itl_ms=20.0)] * 3 * WEIGHT)

    assert 19.5 < merged.itl_ms < 20.0


def test_points_are_forgotten_after_a_day():
    operations = Operations()
    operations.add(POINT, PRIORS[WHOLE], 0.0)
    operations.add(replace(POINT, batch=60.0), PRIORS[WHOLE], 1000.0)

    assert 2 == len(operations.points(MEMORY_S - 1))
    assert [60.0] == [point.batch for point in operations.points(MEMORY_S)]
    assert () == operations.points(MEMORY_S + 1000.0)
