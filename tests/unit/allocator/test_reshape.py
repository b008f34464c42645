"""Moves and removals: what is worth it, what is safe, and every state on the way."""

from dataclasses import replace

import pytest

from allocator.need import Timing
from allocator.offers import Offer, Offers
from allocator.reshape import (
    ON_PAPER,
    WORTHWHILE_GPU,
    WORTHWHILE_SHARE,
    Judge,
    leaving,
    led,
    reshape,
    states_between,
)
from allocator.room import room_of
from fleet.workload import Router
from tests.builders.deciding import need, offers, workload
from tests.builders.fleet import NOW_S, configuration, fleet, running, shape, standing


@pytest.mark.parametrize(
    ("start", "goal", "states"),
    [
        ("1 x whole", "1 x whole", []),
        ("4 x 2g.20gb", "2 x 2g.20gb", ["2 x 2g.20gb"]),
        ("1 x 2g.20gb", "3 x 2g.20gb", ["2 x 2g.20gb", "3 x 2g.20gb"]),
        (
            "1 x whole",
            "2 x 2g.20gb",
            ["1 x 2g.20gb + 1 x whole", "2 x 2g.20gb + 1 x whole", "2 x 2g.20gb"],
        ),
        (
            "2 x 2g.20gb + 1 x whole",
            "1 x 3g.40gb",
            [
                "2 x 2g.20gb + 1 x 3g.40gb + 1 x whole",
                "1 x 3g.40gb + 1 x whole",
                "2 x 2g.20gb + 1 x 3g.40gb",
                "1 x 3g.40gb",
            ],
        ),
        (
            "1 x 2g.20gb + 4 x 3g.40gb",
            "2 x 3g.40gb",
            ["4 x 3g.40gb", "1 x 2g.20gb + 2 x 3g.40gb", "2 x 3g.40gb"],
        ),
    ],
)
def test_new_replicas_come_one_by_one_then_shapes_leave_in_any_order(start, goal, states):
    assert states == [str(state) for state in states_between(configuration(start), configuration(goal))]


def moved(
    text, offered, cards=2, timing=None, history=None, limits=None, aim=None, *, is_scarce=False, **asks
):
    scene = running(fleet(cards), standing("chat", text, **(history or {})))
    (one,) = scene.standings
    run = workload(router=offered.router, **(limits or {}))
    judge = Judge(one, run.limits, need(**asks), offered, timing or Timing(), NOW_S, is_scarce)
    room = room_of(scene)
    towards = led(judge, room, aim) if aim is not None else None
    return towards or reshape(judge, room)


def priced(**shares):
    """Offers of 0.5 work each, at made-up prices."""
    profiles = {"small": "3g.40gb", "large": "4g.40gb"}
    return Offers(
        Router.LEAST_LOADED,
        {shape(profiles[size]): Offer(shape(profiles[size]), 0.5, share) for size, share in shares.items()},
    )


def test_a_move_is_worth_a_tenth_of_a_card_or_it_is_not_made():
    assert (0.1, 0.5) == (WORTHWHILE_GPU, ON_PAPER)  # no card is freed here: a share of one counts half
    cheap = moved("1 x 4g.40gb", priced(small=0.4, large=0.6001), up=0.5)
    dear = moved("1 x 4g.40gb", priced(small=0.4, large=0.5999), up=0.5)
    assert ("1 x 3g.40gb", "1 x 4g.40gb") == (str(cheap.goal), str(dear.goal))
    assert () == dear.because


@pytest.mark.parametrize("is_led", [False, True], ids=["alone", "led"])
@pytest.mark.parametrize(
    ("profile", "start", "left"),
    [("3g.40gb", 10, 9), ("3g.40gb", 12, 12), ("whole", 30, 29)],
    ids=["a-twentieth", "less", "a-card"],
)
def test_one_replica_of_many_goes_if_it_is_a_twentieth_of_them_or_empties_a_card(
    profile, start, left, is_led
):
    """A share counts half: half of the half that is one of twelve is less than a twentieth of six cards."""
    assert 0.05 == WORTHWHILE_SHARE
    aim = configuration(f"{start - 1} x {profile}") if is_led else None
    offered = offers({profile: 0.4})
    got = moved(
        f"{start} x {profile}",
        offered,
        cards=start if profile == "whole" else start // 2,
        aim=aim,
        up=0.4 * (start - 1),
    )
    assert f"{left} x {profile}" == str(got.goal)


@pytest.mark.parametrize("is_scarce", [False, True])
@pytest.mark.parametrize(("start", "floor"), [("2 x 3g.40gb", 2), ("", 0)], ids=["some", "nothing"])
def test_where_the_fleet_packs_best_with_what_stands_nothing_is_to_be_said(start, floor, is_scarce):
    stays = moved(
        start,
        offers({"3g.40gb": 0.4}),
        limits={"floor": floor},
        aim=configuration(start),
        is_scarce=is_scarce,
        up=0.4 * floor,
    )
    assert (configuration(start), ()) == (stays.goal, stays.because)


def test_the_cheapest_goal_is_taken_and_of_equals_the_one_with_fewer_replicas():
    least = offers({"2g.20gb": 0.2, "3g.40gb": 0.4, "whole": 1.0}, router=Router.LEAST_LOADED)
    assert "1 x 3g.40gb" == str(moved("1 x whole", least, up=0.4).goal)
    assert "1 x 2g.20gb" == str(moved("1 x whole", least, up=0.2).goal)


def test_the_first_refusal_is_what_is_reported():
    refused = moved("1 x whole", offers(), up=0.9, keep=0.9)
    assert "1 x whole" == str(refused.goal)
    nothing = moved("1 x whole", offers({"1g.10gb": 0.1, "2g.20gb": 0.2, "whole": 1.0}), up=0.5)
    assert (
        "on the way to 5 x 1g.10gb the smallest would set the pace; a least-loaded router would allow it",
    ) == (nothing.because)


def test_a_mixed_configuration_is_gathered_on_one_shape_where_that_is_cheaper():
    mixed = moved("1 x 3g.40gb + 1 x whole", offers(router=Router.LEAST_LOADED), cards=3, up=0.9)
    assert "1 x whole" == str(mixed.goal)


def test_the_room_beside_is_gone_while_the_move_is_under_way():
    got = moved("1 x whole", offers({"3g.40gb": 0.4, "whole": 1.0}, Router.LEAST_LOADED), up=0.4)
    assert "1 x 3g.40gb" == str(got.goal)
    assert 1 == got.room.fill(shape("3g.40gb"), 9)[0]


def test_a_removal_takes_no_room_and_gives_none_before_it_is_done():
    got = moved("6 x 2g.20gb", offers({"2g.20gb": 0.2}), up=0.2)
    assert "1 x 2g.20gb" == str(got.goal)
    assert 0 == got.room.fill(shape("2g.20gb"), 1)[0]


@pytest.mark.parametrize(
    ("keep", "goal"),
    [(0.5, "3 x 2g.20gb"), (0.6, "3 x 2g.20gb"), (0.61, "4 x 2g.20gb"), (0.0, "1 x 2g.20gb")],
)
def test_need_keep_is_carried_afterwards(keep, goal):
    assert goal == str(moved("6 x 2g.20gb", offers({"2g.20gb": 0.2}), up=0.0, keep=keep).goal)


@pytest.mark.parametrize(("floor", "goal"), [(0, 1), (1, 1), (4, 4), (6, 6)])
def test_the_floor_is_kept(floor, goal):
    got = moved("6 x 2g.20gb", offers({"2g.20gb": 0.2}), up=0.1, limits={"floor": floor})
    assert goal == got.goal.replicas


def test_a_goal_above_the_limit_on_replicas_is_none():
    least = offers({"1g.10gb": 0.1, "whole": 1.0}, Router.LEAST_LOADED)
    assert "1 x whole" == str(moved("1 x whole", least, up=0.5, limits={"ceiling": 4}).goal)
    assert "5 x 1g.10gb" == str(moved("1 x whole", least, up=0.5, limits={"ceiling": 5}).goal)


@pytest.mark.parametrize(
    ("history", "text", "goal"),
    [
        ({}, "6 x 2g.20gb", "1 x 2g.20gb"),
        ({"changed_at_s": NOW_S - 600}, "6 x 2g.20gb", "1 x 2g.20gb"),
        ({"changed_at_s": NOW_S - 599}, "6 x 2g.20gb", "6 x 2g.20gb"),
        ({"reshaped_at_s": NOW_S}, "6 x 2g.20gb", "1 x 2g.20gb"),
        ({"changed_at_s": NOW_S - 599}, "1 x whole", "1 x whole"),
        ({"reshaped_at_s": NOW_S - 3599}, "1 x whole", "1 x whole"),
        ({"reshaped_at_s": NOW_S - 3600}, "1 x whole", "1 x 2g.20gb"),
    ],
)
def test_replicas_dwell_and_shapes_dwell_longer(history, text, goal):
    least = offers({"2g.20gb": 0.2, "whole": 1.0}, Router.LEAST_LOADED)
    assert goal == str(moved(text, least, history=history, up=0.2).goal)


def test_dwell_times_are_those_of_the_question():
    brief = Timing(dwell_s=1.0, shape_dwell_s=2.0)
    least = offers({"2g.20gb": 0.2, "whole": 1.0}, Router.LEAST_LOADED)
    history = {"changed_at_s": NOW_S - 1.5, "reshaped_at_s": NOW_S - 1.5}
    assert "1 x 2g.20gb" == str(moved("6 x 2g.20gb", least, history=history, timing=brief, up=0.2).goal)
    assert "1 x whole" == str(moved("1 x whole", least, history=history, timing=brief, up=0.2).goal)


def test_distrust_is_reported_with_its_first_reason_and_keeps_everything():
    got = moved("6 x 2g.20gb", offers(), up=0.2, distrust=("a pod is not scraped", "a queue stands"))
    assert "6 x 2g.20gb" == str(got.goal)
    assert ("nothing is removed: a pod is not scraped",) == got.because


def test_a_move_to_a_larger_shape_lowers_nothing_on_the_way():
    """Five slices cost more than they carry: equal shares allow the way up in size."""
    dear = replace(offers({"1g.10gb": 0.1, "3g.40gb": 0.5}))
    assert "1 x 3g.40gb" == str(moved("7 x 1g.10gb", dear, up=0.5).goal)


def test_a_replica_that_drains_already_is_not_given_back_again():
    (one,) = running(fleet(4), standing("chat", "3 x whole")).standings
    first, second, third = one.variants[0].replicas
    drains = replace(third, is_leaving=True, created_at_s=third.created_at_s + 60)
    one = replace(one, variants=(replace(one.variants[0], replicas=(first, second, drains)),))
    assert [] == leaving(one, configuration("2 x whole"))
    assert [first.device] == leaving(one, configuration("1 x whole"))
