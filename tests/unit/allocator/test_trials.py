"""The first use of a shape is one replica: nothing waits for it, and nothing is given up for it."""

from dataclasses import replace

import pytest

from allocator.decide import additions, plan
from allocator.target import target
from fleet.host import Host
from fleet.trial import ATTEMPTS, Trial
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
    offered = offers(OFFERED, router=router).for_standing(scene.standings[0], 0.0)
    [decision] = rule(question(scene, [workload(router=router)], [need(up=up)], {"chat": offered}))
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
    trial = Trial(served_s=240.0, failures=1)
    decision = decided("3 x whole + 1 x 3g.40gb", up=1.5, trials={HALF: trial})
    assert "1 x 3g.40gb + 3 x whole" == str(decision.goal)
    [why] = decision.because
    so_far = "240 s inside its objectives so far, 1 attempts failed"
    assert f"3 x 3g.40gb waits for the trial of 3g.40gb: {so_far}" == why


def test_what_is_needed_comes_on_proven_shapes_at_once():
    decision = decided("1 x whole", up=2.4, router=Router.LEAST_LOADED, rule=additions)
    assert "3 x whole" == str(decision.goal)


def test_where_no_other_has_room_an_unproven_shape_is_better_than_nothing():
    """Behind equal shares it lowers what the others may carry: then it is not taken."""
    foreign = [("node-0", "gpu-1-mig-3g40gb-9-0")]
    least, equal = (_grown(router, foreign, up=1.4) for router in (Router.LEAST_LOADED, Router.EQUAL))
    assert ("1 x 3g.40gb + 1 x whole", "1 x whole") == (least, equal)


def _grown(router, foreign, up, **more):
    scene = running(fleet(2, foreign=foreign), standing("chat", "1 x whole", proven=(), **more))
    offered = offers({"3g.40gb": 0.4, "whole": 1.0}, router).for_standing(scene.standings[0], 0.0)
    asked = question(scene, [workload(router=router)], [need(up=up)], {"chat": offered})
    [decision] = additions(asked)
    return str(decision.goal)


FAILED = Trial(failures=ATTEMPTS, because="outside its objectives", until_s=1e9)


@pytest.mark.parametrize(
    ("goal", "why", "start", "given"),
    [
        ("3 x whole", "trial of 3g.40gb is given up: outside", "3 x whole + 1 x 3g.40gb", {"up": 1.5}),
        ("3 x whole", None, "3 x whole", {"up": 2.5}),
        ("2 x whole", "frees 1.00 GPU", "3 x whole", {"up": 1.5}),
        (
            "1 x 3g.40gb + 1 x whole",
            "it stays: on the way",
            "1 x whole + 1 x 3g.40gb",
            {"up": 1.3, "router": Router.LEAST_LOADED},
        ),
    ],
)
def test_a_shape_that_was_given_up_goes_where_the_others_carry_enough_and_is_not_taken_again(
    goal, why, start, given
):
    decision = decided(start, trials={HALF: FAILED}, **given)
    assert goal == str(decision.goal)
    assert (why is None and not decision.because) or why in decision.because[0]


def test_nor_where_no_other_has_room():
    foreign = [("node-0", "gpu-1-mig-3g40gb-9-0")]
    assert "1 x whole" == _grown(Router.LEAST_LOADED, foreign, up=1.4, trials={HALF: FAILED})


def test_nor_where_the_whole_fleet_would_be_packed_with_it():
    stands = standing("chat", "3 x whole", proven=(), trials={HALF: FAILED})
    offered = offers({"3g.40gb": 0.6, "whole": 1.0})
    found = offered.for_standing(stands, 0.0)
    asked = question(running(fleet(6), stands), [workload()], [need(up=1.2)], {"chat": found})
    aims = target(question(asked.fleet, [workload()], [need(up=1.2)], {"chat": offered})).goals
    assert ["2 x 3g.40gb"] == [str(goal) for goal in aims.values()]
    assert ["2 x whole"] == [str(goal) for goal in target(asked).goals.values()]
    assert ["2 x whole"] == [str(decision.goal) for decision in plan(asked, aims)]


@pytest.mark.parametrize(
    ("spread", "goal", "why"),
    [
        (True, "1 x 3g.40gb + 2 x whole", "2 x whole would leave all replicas in one fault domain"),
        (False, "2 x whole", "outside its objectives"),
    ],
)
def test_nor_does_its_failed_replica_go_where_the_others_stand_in_one_fault_domain(spread, goal, why):
    stands = standing("chat", "2 x whole + 1 x 3g.40gb", proven=(), trials={HALF: FAILED})
    own_first = sorted(stands.variants, key=lambda variant: not variant.shape.is_whole)
    hosts = {f"node-{n}": Host("b" if n == 2 else "a") for n in range(4)}
    scene = running(fleet(4, 1, hosts=hosts), replace(stands, variants=tuple(own_first)))
    offered = offers(OFFERED).for_standing(scene.standings[0], 0.0)
    asked = question(scene, [workload(is_spread=spread)], [need(up=1.5)], {"chat": offered})
    [decision] = plan(asked)
    assert goal == str(decision.goal)
    assert decision.because[0].endswith(why)
