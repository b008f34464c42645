"""Where the whole fleet should be, and how few cards any packing takes."""

from dataclasses import replace

import pytest

from allocator.market import Market
from allocator.offers import Offer, Offers
from allocator.packing.problem import Stock
from allocator.target import cards_of, problem_of, target, way_to
from fleet.boards import A100_80GB
from fleet.cluster import Gpu, Replica
from fleet.ledgers.queues import UNLIMITED, Queue
from fleet.shape import Shape
from fleet.workload import Limits, Router, Tier
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import (
    BOARD,
    configuration,
    consumable,
    fleet,
    key,
    running,
    shape,
    standing,
    time_sliced,
)

CAPACITIES = {"1g.10gb": 0.1, "2g.20gb": 0.25, "3g.40gb": 0.45, "whole": 1.0}


def asked(cards=4, foreign=(), stands="1 x whole", router=Router.EQUAL, **works):
    """Workloads by name, each standing on one whole card, with the work that must be kept."""
    workloads = [workload(name, router=router) for name in works]
    scene = running(fleet(cards, foreign=foreign), *(standing(name, stands) for name in works))
    needs = [need(name, work) for name, work in works.items()]
    return question(scene, workloads, needs, dict.fromkeys(works, offers(CAPACITIES, router)))


def test_small_workloads_share_a_card_instead_of_one_each():
    aim = target(asked(a=0.4, b=0.4))

    assert {key("a"): configuration("1 x 3g.40gb"), key("b"): configuration("1 x 3g.40gb")} == aim.goals
    assert (1, 1, 0.0) == (aim.cards, aim.least, aim.gap)
    assert {} == aim.short


def test_a_slice_is_worth_what_it_takes_of_a_card():
    aim = target(asked(a=0.4, b=0.4))

    assert 0.5 == pytest.approx(aim.worth[shape("3g.40gb")])
    assert 1.0 == pytest.approx(aim.price(configuration("2 x 3g.40gb")))


def test_what_stands_is_kept_where_another_packing_takes_no_fewer_cards():
    assert {key("a"): configuration("1 x whole")} == target(asked(a=0.9)).goals
    assert {key("a"): configuration("2 x 3g.40gb")} == target(asked(stands="2 x 3g.40gb", a=0.9)).goals


def test_where_cards_are_too_few_the_lower_tier_is_short_and_the_least_is_that_of_all():
    scene = asked(cards=2, a=1.0, b=1.0)
    strict, economy = (
        replace(w, tier=t) for w, t in zip(scene.workloads, (Tier.STRICT, Tier.ECONOMY), strict=True)
    )
    needs = {(key("a"), 0): need("a", 2.0), (key("b"), 0): need("b", 1.0)}

    aim = target(replace(scene, workloads=(strict, economy), needs=needs))

    assert {key("b"): pytest.approx(1.0)} == aim.short
    assert configuration("2 x whole") == aim.goals[key("a")]
    assert 3 == aim.least


def test_what_is_short_is_what_the_goal_does_not_carry():
    """Packing leaves a quarter of the work at least; one replica more carries nearly all of it."""
    scene = asked(cards=1, a=1.2)
    aim = target(replace(scene, offers={key("a"): offers({"2g.20gb": 0.35})}))

    assert configuration("3 x 2g.20gb") == aim.goals[key("a")]
    assert {key("a"): pytest.approx(0.15)} == aim.short


def test_cards_of_others_are_left_to_them():
    foreign = (("node-0", "gpu-0"),)
    scene = asked(cards=2, foreign=foreign, a=0.9)

    assert ["GPU-node-0-1"] == [card.uuid for card in cards_of(scene.fleet, (Stock(BOARD),))]
    assert 1 == target(scene).cards


@pytest.mark.parametrize(
    ("closed", "cards"),
    [
        ({"a": {"node-2"}, "b": {"node-2"}}, {"node-0", "node-1"}),
        ({"a": {"node-2"}, "b": set()}, {"node-0", "node-1", "node-2"}),
        ({"a": {"node-0"}, "b": {"node-0"}}, {"node-0", "node-1", "node-2"}),
    ],
    ids=["to-all", "to-one", "to-all-but-who-is-there"],
)
def test_cards_that_no_workload_s_pods_are_let_onto_are_not_packed(closed, cards):
    scene = running(fleet(3, per_node=1), *(standing(name, "1 x 1g.10gb") for name in closed))
    found = [
        replace(one, variants=(replace(one.variants[0], closed=frozenset(closed[one.key.name])),))
        for one in scene.standings
    ]
    scene = replace(scene, standings=tuple(found))
    assert cards == {card.node for card in cards_of(scene, (Stock(BOARD),))}


def test_groups_over_several_nodes_are_left_where_they_are_and_their_cards_to_them():
    """Beside a group of two cards, on a node each, one workload has the third card."""
    pair = replace(shape("whole"), cards=2)
    scene = running(fleet(3, per_node=1), standing("a", "1 x whole"))
    second, third = (device for each in scene.pools[1:] for device in each.devices if device.profile is None)
    group = replace(standing("group", "1 x whole").own, shape=pair, members=2)
    group = replace(group, replicas=(Replica("group-0", "group-whole", pair, second, True, False, 0.0),))
    scene = replace(
        scene,
        allocated=(*scene.allocated, second, third),
        standings=(*scene.standings, replace(standing("group", ""), variants=(group,))),
    )
    works = {
        "a": offers(CAPACITIES, Router.EQUAL),
        "group": Offers(Router.EQUAL, {pair: Offer(pair, 1.0, 2.0)}),
    }
    asks = [workload(name, router=Router.EQUAL) for name in works]
    asked_for = question(scene, asks, [need("a", 0.9), need("group", 0.9)], works)
    aim = target(asked_for)

    assert {key("a"): configuration("1 x whole")} == aim.goals
    assert ((), ()) == (way_to(aim, asked_for).moves, way_to(aim, asked_for).stuck)


def test_a_workload_that_the_cluster_does_not_have_is_left_out():
    scene = asked(a=0.4)
    assert {} == target(replace(scene, fleet=fleet(2))).goals


def test_no_workloads_take_no_cards():
    aim = target(question(fleet(1), [], []))
    assert (0, 0, 0.0) == (aim.cards, aim.least, aim.gap)


@pytest.mark.parametrize("router", [Router.EQUAL, Router.LEAST_LOADED])
def test_the_least_is_proven_where_small_slices_would_be_too_many_replicas(router):
    scene = asked(cards=12, router=router, a=9.5)
    capped = tuple(replace(one, limits=Limits(1, 40)) for one in scene.workloads)
    aim = target(replace(scene, workloads=capped))

    assert 10 == aim.cards
    assert 10 == aim.least


class TestMarket:
    """Two workloads of a whole card each, in queues of a fleet with cards enough."""

    def aim(self, tiers=(Tier.BALANCED, Tier.BALANCED), names=("low", "high"), prices=None, **limits):
        queues = {
            "low": Queue("low", quota=UNLIMITED, limit=limits.pop("low", UNLIMITED), priority=1),
            "high": Queue("high", limit=UNLIMITED, priority=2, **{"quota": UNLIMITED, **limits}),
        }
        scene = asked(a=1.0, b=1.0)
        workloads = tuple(replace(w, tier=t) for w, t in zip(scene.workloads, tiers, strict=True))
        queue_of = dict(zip((key("a"), key("b")), names, strict=True))
        return target(
            replace(scene, workloads=workloads, market=Market(prices or {}, queues, queue_of)),
        )

    def test_cards_cost_what_they_are_said_to_and_so_does_the_least(self):
        aim = self.aim(prices={BOARD.id: 2.5})
        assert (2, 5.0, pytest.approx(5.0)) == (aim.cards, aim.cost, aim.least)

    def test_a_queue_keeps_its_limit_and_others_do_not_count_against_it(self):
        assert {} == self.aim().short
        aim = self.aim(low=0.5)
        assert {key("a"): 1.0} == aim.short
        assert "queue low: 0.5 GPUs" in aim.binding[0]

    def test_pods_of_others_in_the_queue_leave_less_of_it(self):
        queues = {"team": Queue("team", quota=UNLIMITED, limit=2.0)}
        scene = asked(stands="1 x 3g.40gb", a=1.0)
        market = Market({}, queues, {key("a"): "team"})
        shorts = [
            target(replace(scene, market=market, fleet=replace(scene.fleet, queued={"team": gpus}))).short
            for gpus in (1.0, 1.5)
        ]
        assert [set(), {key("a")}] == [set(short) for short in shorts]

    def test_of_one_tier_the_queue_of_lower_priority_is_short(self):
        scene = asked(cards=1, stands="1 x 3g.40gb", a=1.0, b=1.0)
        queues = {name: Queue(name, limit=UNLIMITED, priority=n) for n, name in enumerate(("p", "q"))}
        for names, short in ((("p", "q"), "a"), (("q", "p"), "b")):
            queue_of = dict(zip((key("a"), key("b")), names, strict=True))
            aim = target(replace(scene, market=Market({}, queues, queue_of)))
            assert {key(short)} == set(aim.short)

    def test_the_strict_stay_within_what_their_queue_is_guaranteed_and_others_need_not(self):
        strict = (Tier.STRICT, Tier.STRICT)
        assert {key("b")} == set(self.aim(strict, quota=0.0).short)
        assert {} == self.aim(quota=0.0).short


@pytest.mark.parametrize(("replicas", "goal"), [(4, "3 x 25/100"), (2, "2 x 50/100")])
def test_of_time_slices_those_are_taken_that_nodes_offer(replicas, goal):
    scene = running(time_sliced(1, replicas), standing("a", f"1 x {100 // replicas}/100"))
    works = offers({"25/100": 0.2, "50/100": 0.45, "33/100": 0.3})

    aim = target(question(scene, [workload("a")], [need("a", 0.6)], {"a": works}))

    assert {key("a"): configuration(goal)} == aim.goals


def test_each_part_of_a_card_that_claims_consume_has_a_seat_of_its_own():
    scene = running(consumable(2), standing("a", "2 x 25/100"), standing("b", "1 x 33/100"))
    works = offers({"25/100": 0.2, "33/100": 0.3})
    asked = question(
        scene, [workload("a"), workload("b")], [need("a", 0.4), need("b", 0.3)], {"a": works, "b": works}
    )

    (first, second) = cards_of(scene, problem_of(asked).stocks)
    assert ([key("a"), key("a"), key("b")], []) == (list(first.held.values()), list(second.held.values()))
    assert {key("a"): configuration("2 x 25/100"), key("b"): configuration("1 x 33/100")} == target(
        asked
    ).goals


@pytest.mark.parametrize("is_first", [False, True])
def test_what_nodes_offer_as_time_slices_and_as_parts_to_consume_is_packed_as_both_can_give_it(is_first):
    """A card cannot give half of itself as a time slice beside a quarter that is consumed."""
    nodes = (consumable(1, "node-a"), time_sliced(1, 2, "node-b"))
    first, second = nodes if is_first else reversed(nodes)
    both = replace(first, gpus=first.gpus + second.gpus, pools=first.pools + second.pools)
    scene = replace(both, standings=(standing("a", "1 x 50/100"),))
    works = offers({"50/100": 0.45, "25/100": 0.2})

    (stock,) = problem_of(question(scene, [workload("a")], [need("a", 0.2)], {"a": works})).stocks

    assert ((50,), (25,)) == (stock.slices, stock.shares)


def test_time_slices_of_one_kind_of_card_are_none_of_another():
    sliced, other = time_sliced(1, 4), Gpu("GPU-other", "node-1", A100_80GB)
    scene = replace(sliced, gpus=(*sliced.gpus, other), standings=(standing("a", "1 x 25/100"),))
    part = Shape(A100_80GB.id, "25/100")
    works = Offers(Router.EQUAL, {part: Offer(part, 0.2, 0.25)})

    aim = target(question(scene, [workload("a")], [need("a", 0.2)], {"a": works}))

    assert {} == aim.goals
