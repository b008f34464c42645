"""Workloads whose own Deployment changes shape: when, by which way, and why not."""

from dataclasses import replace

import pytest

from allocator.decide import plan
from allocator.need import Timing
from allocator.reshape import Judge
from allocator.room import room_of
from allocator.switching import grow_or_switch
from fleet.restraints import DisruptionBudget
from fleet.rollout import Rollout
from fleet.trial import Trial
from fleet.workload import Limits, Mode, Router
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import NOW_S, configuration, fleet, running, shape, standing

HALVES = {"whole": 1.0, "3g.40gb": 0.4}
TRIED = Rollout(min_ready_s=600.0)


def scene(text, cards=2, rollout=TRIED, foreign=(), **more):
    """A fleet with workload `chat`, which is switched, and its standing."""
    seen = running(fleet(cards, foreign=foreign), standing("chat", text))
    (one,) = seen.standings
    own = replace(one.variants[0], rollout=rollout)
    one = replace(one, variants=(own, *one.variants[1:]), switches=True, may_have_variants=False, **more)
    return replace(seen, standings=(one,)), one


def decided(text, *, timing=None, may_move=True, limits=None, by=None, router=Router.EQUAL, **more):
    """Return where it should go, and why."""
    asks = {name: more.pop(name) for name in ("up", "keep", "distrust") if name in more}
    seen, one = scene(text, **more)
    who = workload(router=router)
    bounds = Limits(*limits) if limits else Limits()
    judge = Judge(one, bounds, need(**asks), by or offers(HALVES, router), timing or Timing(), NOW_S)
    grown = grow_or_switch(replace(who, limits=bounds), judge, room_of(seen), may_move=may_move)
    return str(grown.goal), "; ".join(grown.because)


def test_all_replicas_go_to_the_shape_that_carries_the_need_for_less():
    goal, why = decided("1 x whole", up=0.3)
    assert ("1 x 3g.40gb", "1 x whole to 1 x 3g.40gb by a switch saves 0.50 GPU; carries 0.30") == (goal, why)


@pytest.mark.parametrize(
    ("start", "up", "goal"),
    [
        ("2 x whole", 0.3, "1 x 3g.40gb"),
        ("2 x whole", 1.5, "2 x whole"),
        ("2 x 3g.40gb", 0.2, "1 x 3g.40gb"),
    ],
    ids=["fewer do", "no other is cheaper", "it is there already"],
)
def test_so_many_as_carry_the_need_and_no_more(start, up, goal):
    assert goal == decided(start, up=up, cards=4)[0]


def test_where_more_are_needed_than_stand_there_is_room_for_them_on_the_old_shape_first():
    sevenths = offers({"whole": 1.0, "1g.10gb": 0.1})
    assert "3 x 1g.10gb" == decided("1 x whole", up=0.3, cards=4, by=sevenths)[0]
    goal, why = decided("1 x whole", up=0.3, cards=2, by=sevenths)
    assert "1 x whole" == goal
    assert why.endswith("is not switched to 3 x 1g.10gb: no room to build 3 x whole beside 1 x whole")


def test_where_no_replica_of_the_new_shape_fits_beside_the_old_ones_nothing_is_planned():
    goal, why = decided("2 x whole", up=1.1, keep=1.1, by=offers({"whole": 1.0, "3g.40gb": 0.6}))
    assert "2 x whole" == goal
    assert why.endswith("is not switched to 2 x 3g.40gb: no room for 1 x 3g.40gb beside 2 x whole")


def test_with_room_for_one_it_is_since_each_makes_room_for_the_next():
    goal, _ = decided("2 x whole", cards=3, up=1.1, by=offers({"whole": 1.0, "3g.40gb": 0.6}))
    assert "2 x 3g.40gb" == goal


def test_to_larger_ones_all_have_to_fit_beside_the_old_ones():
    larger = offers({"whole": 1.0, "3g.40gb": 0.1})
    assert "1 x whole" == decided("8 x 3g.40gb", cards=12, up=0.8, by=larger, limits=(1, 8))[0]
    goal, why = decided("8 x 3g.40gb", cards=9, up=0.8, by=larger, limits=(1, 8))
    assert "8 x 3g.40gb" == goal
    assert "no room for 8 x whole beside 8 x 3g.40gb" in why


REFUSED = {
    "a rollout runs": ({"rollout": replace(TRIED, is_running=True)}, "a rollout of chat-whole is on its way"),
    "it takes pods away first": (
        {"rollout": replace(TRIED, obstacle="set maxUnavailable")},
        "set maxUnavail",
    ),
    "one is stuck": ({"rollout": replace(TRIED, stuck="timed out")}, "chat-whole: timed out"),
    "nobody tries it first": (
        {"rollout": Rollout(), "proven": ()},
        "3g.40gb has not proven itself: with minReady",
    ),
    "a budget lets none go": ({"budgets": (DisruptionBudget("one", 0),)}, "PodDisruptionBudget one lets no"),
    "its need is not trusted": ({"distrust": ("no metrics",)}, "no metrics"),
    "reshaped lately": ({"reshaped_at_s": NOW_S - 600.0}, "reshaped 600 s ago, keeps its shape for 3600 s"),
}


@pytest.mark.parametrize(("given", "why"), REFUSED.values(), ids=REFUSED)
def test_what_stands_in_the_way_is_said_and_it_stays(given, why):
    goal, said = decided("1 x whole", up=0.3, **given)
    assert "1 x whole" == goal
    assert f"1 x whole is not switched to 1 x 3g.40gb: {why}" in said


def test_a_proven_shape_needs_no_trial_by_the_controller():
    goal, _ = decided("1 x whole", up=0.3, rollout=Rollout(), proven=(shape("3g.40gb"),))
    assert "1 x 3g.40gb" == goal


def test_what_is_missing_is_added_of_the_shape_that_it_has_now():
    goal, why = decided("1 x whole", up=1.2)
    assert "2 x whole" == goal
    assert "1 x whole added" in why


def test_between_plans_nothing_is_switched():
    assert ("1 x whole", "") == decided("1 x whole", up=0.3, may_move=False)


def test_while_pods_follow_no_other_plan_is_made():
    given = {"moving_to": configuration("1 x 3g.40gb")}
    assert ("1 x 3g.40gb", "on the way to 1 x 3g.40gb") == decided("2 x 3g.40gb", up=0.2, **given)


def test_from_a_shape_that_failed_it_leaves_for_the_cheapest_that_carries_the_need():
    failed = Trial().abandoned("it never served", NOW_S - 4000.0)
    table = {**HALVES, "2g.20gb": 0.2}
    given_up = replace(offers(table), given_up=frozenset({shape("3g.40gb")}))
    goal, _ = decided(
        "1 x 3g.40gb",
        up=0.3,
        by=given_up,
        proven=(shape("whole"),),
        trials={shape("3g.40gb"): failed},
        rollout=replace(TRIED, template="ours", owners="whole-gpu"),
    )
    assert "2 x 2g.20gb" == goal


def test_a_plan_switches_it_and_one_that_may_only_be_added_to_stays():
    seen, _ = scene("1 x whole")
    for mode, goal in ((Mode.FULL, "1 x 3g.40gb"), (Mode.SCALE_UP_ONLY, "1 x whole")):
        [decision] = plan(question(seen, [workload(mode=mode)], [need(up=0.3)], {"chat": offers(HALVES)}))
        assert goal == str(decision.goal)
