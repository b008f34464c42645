"""What a target becomes as needs change, until the fleet is packed anew."""

from dataclasses import replace

import pytest

from allocator.decide import plan
from allocator.market import Market
from allocator.renewal import renewed
from allocator.target import target
from fleet.boards import A100_80GB
from fleet.host import NOTHING, Host, HostAmount
from fleet.ledgers.queues import UNLIMITED, Queue
from fleet.workload import Mode, Router, Tier
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import NOW_S, configuration, fleet, key, running, standing

CAPACITIES = {"1g.10gb": 0.1, "2g.20gb": 0.25, "3g.40gb": 0.45, "whole": 1.0}


def asked(cards=4, stands="1 x 3g.40gb", **works):
    """Workloads by name with the work that must be kept."""
    scene = running(fleet(cards), *(standing(name, stands) for name in works))
    needs = [need(name, work) for name, work in works.items()]
    return question(
        scene, [workload(name) for name in works], needs, dict.fromkeys(works, offers(CAPACITIES))
    )


def goals(before, now):
    return {key.name: str(goal) for key, goal in renewed(target(before), now).items()}


def test_goals_that_fit_are_the_targets():
    before = asked(a=0.4, b=0.9)
    assert target(before).goals == renewed(target(before), asked(a=0.41, b=0.89))


def test_what_stands_and_carries_is_not_left_for_what_costs_next_to_nothing_less():
    """Two eighths cost a thousandth less than a quarter, until the scheduler seats them on two cards."""

    def scene(stands, work):
        router = Router.LEAST_LOADED
        one = workload("a", Tier.ECONOMY, Mode.FULL, router, ceiling=6)
        return question(
            running(fleet(5), standing("a", stands)),
            [one],
            [need("a", work)],
            {"a": offers(CAPACITIES, router)},
            at_s=NOW_S + 7200,
        )

    assert {"a": "2 x 1g.10gb + 1 x whole"} == goals(scene("1 x 3g.40gb", 0.2), scene("1 x 3g.40gb", 1.2))
    stands = "1 x 2g.20gb + 1 x whole"
    assert {"a": stands} == goals(scene("1 x 3g.40gb", 0.2), scene(stands, 1.2))


@pytest.mark.parametrize(
    ("stands", "before", "work", "goal"),
    [
        ("1 x 3g.40gb", 0.4, 0.9, "1 x whole"),
        ("2 x 3g.40gb", 0.9, 0.4, "1 x 3g.40gb"),
        ("1 x 3g.40gb", 0.4, 0.3, "1 x 3g.40gb"),
    ],
)
def test_a_goal_that_carries_too_little_or_costs_too_much_is_chosen_anew(stands, before, work, goal):
    got = goals(asked(stands=stands, a=before, b=before), asked(stands=stands, a=work, b=before))
    assert {"a": goal, "b": stands} == got


def test_a_workload_that_came_since_has_a_goal_and_those_after_it_are_seen_to():
    got = goals(asked(b=0.4), asked(a=0.4, b=0.9))
    assert {"a": "1 x 3g.40gb", "b": "1 x whole"} == got


def test_a_goal_for_which_there_is_no_room_stays_for_the_next_packing():
    before = asked(cards=1, a=0.4, b=0.4)
    assert target(before).goals == renewed(target(before), asked(cards=1, a=0.9, b=0.4))


def test_a_plan_goes_where_the_goal_went():
    """Of two large slices a large and a small one are left: a stale goal knows only the two."""

    def scene(keep):
        stands = standing("a", "2 x 3g.40gb"), standing("b", "1 x 1g.10gb")
        by_name = {"a": offers({"1g.10gb": 0.06, "3g.40gb": 0.4}, Router.LEAST_LOADED)}
        fitting = running(fleet(2), *stands)
        asking = [workload("a", router=Router.LEAST_LOADED)]
        return question(fitting, asking, [need("a", keep)], by_name, at_s=NOW_S + 7200)

    aim, now = target(scene(0.8)), scene(0.45)
    plans = [plan(now, goals) for goals in (aim.goals, renewed(aim, now))]
    assert ["2 x 3g.40gb", "1 x 1g.10gb + 1 x 3g.40gb"] == [str(one.goal) for (one,) in plans]


def test_one_change_is_seen_by_the_next():
    """One card is empty, and both have grown out of their halves: the second stays with what it has."""
    got = goals(asked(cards=2, a=0.4, b=0.4), asked(cards=2, a=1.3, b=1.3))
    assert ("3 x 3g.40gb", "1 x 3g.40gb") == (got["a"], got["b"])


@pytest.mark.parametrize(("limit", "goal"), [(UNLIMITED, "1 x whole"), (3.5, "1 x 3g.40gb")])
def test_queues_bind(limit, goal):
    market = Market(queues={"team": Queue("team", quota=UNLIMITED, limit=limit)}, queue_of={key("a"): "team"})
    before, now = (replace(asked(cards=2, a=work), market=market) for work in (0.4, 0.9))
    assert goal == goals(before, now)["a"]


def test_with_another_queue_that_binds_the_goals_stay_and_with_more_or_less_of_the_same_they_do_not():
    """What one of the other queue's GPUs is worth is not known before the next packing."""

    def scene(work, queue, limit):
        queues = {queue: Queue(queue, quota=UNLIMITED, limit=limit)}
        return replace(asked(cards=2, a=work), market=Market(queues=queues, queue_of={key("a"): queue}))

    before = scene(0.4, "team", 7.0)
    assert "1 x 3g.40gb" == goals(before, scene(0.9, "others", 7.0))["a"]
    assert ["1 x whole"] * 2 == [goals(before, scene(0.9, "team", limit))["a"] for limit in (7.0, 9.0)]


@pytest.mark.parametrize("left", [HostAmount(cpu_m=500, pods=9), NOTHING], ids=["too little CPU", "cordoned"])
def test_nodes_bind(left):
    def scene(work):
        one = asked(cards=2, a=work)
        (stands,) = one.fleet.standings
        asking = replace(stands.own, host=HostAmount(cpu_m=1000, pods=1))
        hosts = {"node-0": Host("", left)}
        return replace(
            one, fleet=replace(one.fleet, standings=(replace(stands, variants=(asking,)),), hosts=hosts)
        )

    assert "1 x 3g.40gb" == goals(scene(0.4), scene(0.9))["a"]


def test_with_cards_of_another_kind_the_goals_stay_and_without_a_packing_there_are_none():
    before, now = asked(a=0.4), asked(a=0.9)
    other = replace(
        now, fleet=replace(now.fleet, gpus=tuple(replace(g, board=A100_80GB) for g in now.fleet.gpus))
    )
    assert target(before).goals == renewed(target(before), other)
    assert {} == renewed(target(asked()), now)


def test_a_card_of_others_is_no_room():
    def scene(work, *foreign):
        here = running(fleet(2, foreign=foreign), standing("a", "1 x 3g.40gb"))
        return question(here, [workload("a")], [need("a", work)], {"a": offers(CAPACITIES)})

    theirs = ("node-0", "gpu-1-mig-1g10gb-19-0")
    assert ["1 x whole", "1 x 3g.40gb"] == [
        goals(scene(0.4, *others), scene(0.9, *others))["a"] for others in ((), (theirs,))
    ]


@pytest.mark.parametrize("router", Router)
def test_a_replica_on_a_shape_that_nobody_has_on_offer_any_more_is_in_no_goal(router):
    """Beside another workload: a card that it has to itself it may leave whole."""

    def scene(work):
        stands = standing("b", "1 x 3g.40gb"), standing("a", "1 x 1g.10gb + 1 x 3g.40gb")
        by_name = dict.fromkeys("ab", offers({"3g.40gb": 0.45, "whole": 1.0}, router))
        asking = [workload(name, router=router) for name in "ab"]
        return question(running(fleet(3), *stands), asking, [need("a", work), need("b", 0.4)], by_name)

    assert "1 x whole" == goals(scene(0.4), scene(0.95))["a"]


def test_the_last_room_goes_to_the_higher_tier():
    """As `test_one_change_is_seen_by_the_next`, but for whose it is."""

    def scene(work):
        asking = [workload("a", Tier.ECONOMY), workload("z", Tier.STRICT)]
        return replace(asked(cards=2, a=work, z=work), workloads=tuple(asking))

    assert {"a": "1 x 3g.40gb", "z": "3 x 3g.40gb"} == goals(scene(0.4), scene(1.3))


@pytest.mark.parametrize(
    ("way", "of_small", "of_grown"),
    [
        ({}, "1 x 3g.40gb", "2 x 3g.40gb"),
        ({"distrust": ("a pod is not scraped",)}, "2 x 3g.40gb", "1 x 3g.40gb"),
        ({"mode": Mode.SCALE_UP_ONLY}, "2 x 3g.40gb", "1 x 3g.40gb"),
        ({"moving_to": configuration("2 x 3g.40gb")}, "2 x 3g.40gb", "1 x 3g.40gb"),
        ({"mode": Mode.ADVISE}, "1 x 3g.40gb", "1 x 3g.40gb"),
    ],
)
def test_only_what_a_plan_would_take_away_is_room_for_others(way, of_small, of_grown):
    """There are two cards for four halves: what one gives back is all that there is for another."""

    def scene(small, grown):
        larger = standing("a", "2 x 3g.40gb", moving_to=way.get("moving_to"))
        here = running(fleet(2), larger, standing("b", "1 x 3g.40gb"), standing("c", "1 x 3g.40gb"))
        asking = [workload("a", mode=way.get("mode", Mode.FULL)), workload("b"), workload("c")]
        needs = [need("a", small, distrust=way.get("distrust", ())), need("b", grown), need("c", 0.4)]
        return question(here, asking, needs, dict.fromkeys("abc", offers({"3g.40gb": 0.45})))

    got = goals(scene(0.9, 0.4), scene(0.4, 0.9))
    assert (of_small, of_grown) == (got["a"], got["b"])
