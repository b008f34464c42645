"""The first use of a shape is one replica: nothing waits for it, and nothing is given up for it."""

from dataclasses import replace

import pytest

from allocator.decide import additions, plan
from fleet.workload import Router
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import fleet, running, shape, standing

HALF = shape("3g.40gb")
OFFERED = {"3g.40gb": 0.5, "whole": 1.0}


def decided(start, *, up, proven=(), router=Router.EQUAL, cards=6, rule=plan, **more):
    """What is decided for one workload whose owner runs whole cards."""
    stands = standing("chat", start, proven=tuple(map(shape, proven)), **more)
    own_first = sorted(stands.variants, key=lambda variant: not variant.shape.is_whole)
    scene = running(fleet(cards), replace(stands, variants=tuple(own_first)))
    asked = question(
        scene, [workload(router=router)], [need(up=up)], {"chat": offers(OFFERED, router=router)}
    )
    [decision] = rule(asked)
    return decision


@pytest.mark.parametrize(
    ("goal", "why", "given"),
    [
        ("1 x 3g.40gb + 3 x whole", "trial of 3g.40gb, for 3 x whole to 3 x 3g.40gb", {"up": 1.5}),
        ("3 x 3g.40gb", "3 x whole to 3 x 3g.40gb", {"up": 1.5, "proven": ["3g.40gb"]}),
        (
            "3 x whole",
            "the smallest would set the pace; a least-loaded router would allow it",
            {"up": 2.1},
        ),
        ("1 x 3g.40gb + 3 x whole", "trial of 3g.40gb", {"up": 1.5, "router": Router.LEAST_LOADED}),
    ],
)
def test_a_cheaper_shape_is_tried_with_one_replica_and_what_stands_stays(goal, why, given):
    decision = decided("3 x whole", **given)
    assert goal == str(decision.goal)
    assert why in decision.because[0]


def test_while_it_is_tried_nothing_goes_and_no_second_one_comes():
    decision = decided("3 x whole + 1 x 3g.40gb", up=1.5)
    assert "1 x 3g.40gb + 3 x whole" == str(decision.goal)
    assert ("3 x 3g.40gb waits for the trial of 3g.40gb",) == decision.because


def test_what_is_needed_comes_on_proven_shapes_at_once():
    decision = decided("1 x whole", up=2.4, router=Router.LEAST_LOADED, rule=additions)
    assert "3 x whole" == str(decision.goal)


def test_where_no_other_has_room_an_unproven_shape_is_better_than_nothing():
    """Behind equal shares it lowers what the others may carry: then it is not taken."""
    foreign = [("node-0", "gpu-1-mig-3g40gb-9-0")]
    least, equal = (_grown(router, foreign, up=1.4) for router in (Router.LEAST_LOADED, Router.EQUAL))
    assert ("1 x 3g.40gb + 1 x whole", "1 x whole") == (least, equal)


def _grown(router, foreign, up):
    scene = running(fleet(2, foreign=foreign), standing("chat", "1 x whole", proven=()))
    asked = question(
        scene,
        [workload(router=router)],
        [need(up=up)],
        {"chat": offers({"3g.40gb": 0.4, "whole": 1.0}, router)},
    )
    [decision] = additions(asked)
    return str(decision.goal)
