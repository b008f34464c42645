"""Decisions over several workloads: order, reasons, counterfactual, and what stands."""

from dataclasses import replace

import pytest

from allocator.decide import additions, cards_if_packed, plan
from fleet.boards import A30_24GB
from fleet.cluster import Gpu
from fleet.devices import Device
from fleet.workload import Mode, Router, Tier
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import NOW_S, configuration, consumable, fleet, key, running, standing, time_sliced


def asked(cards=1, **works):
    """Workloads of which nothing stands, with the work that each needs."""
    stands = [standing(name) for name in works]
    return question(
        fleet(cards, standings=stands), [workload(n) for n in works], [need(n, up) for n, up in works.items()]
    )


def test_a_workload_that_the_cluster_does_not_have_is_passed_over():
    one = asked(chat=0.1, code=0.1)
    without = replace(one, fleet=fleet(1, standings=[standing("code")]))
    assert ["code"] == [decision.workload.name for decision in additions(without)]
    assert ["code"] == [decision.workload.name for decision in plan(without)]


def test_decisions_come_in_the_order_in_which_room_is_given_out():
    one = asked(a=0.1, b=0.3, c=0.3, d=0.2)
    tiers = {"a": Tier.ECONOMY, "b": Tier.ECONOMY, "c": Tier.ECONOMY, "d": Tier.STRICT}
    ranked = replace(one, workloads=tuple(replace(w, tier=tiers[w.key.name]) for w in one.workloads))
    assert ["d", "b", "c", "a"] == [decision.workload.name for decision in additions(ranked)]


def test_a_decision_says_where_it_starts_what_was_needed_and_whether_it_is_a_change():
    scene = running(fleet(1), standing("chat", "1 x 2g.20gb"), standing("code", "1 x 2g.20gb"))
    one = question(scene, [workload("chat"), workload("code")], [need("chat", 0.4), need("code", 0.2)])
    chat, code = additions(one)
    assert configuration("1 x 2g.20gb").counts == chat.start.counts
    assert need("chat", 0.4) == chat.need
    assert (True, False) == (chat.is_change, code.is_change)


def test_an_unfinished_plan_is_a_change_until_it_is_done():
    scene = running(fleet(1), standing("chat", "2 x 2g.20gb", moving_to=configuration("1 x 2g.20gb")))
    (decision,) = additions(question(scene, [workload()], [need(up=0.1)]))
    assert decision.is_change
    assert ("2 x 2g.20gb", "1 x 2g.20gb") == (str(decision.start), str(decision.goal))


def test_the_counterfactual_takes_no_room():
    """Blind, the first would take two 3g; what it really takes is what the second finds gone."""
    scene = fleet(1, standings=[standing("chat"), standing("code")])
    only_3g = offers({"3g.40gb": 0.4})
    needs = [need("chat", 0.4, reactive=0.4), need("code", 0.4, reactive=0.0)]
    first, second = additions(
        question(scene, [workload("chat"), workload("code")], needs, {"chat": only_3g, "code": only_3g})
    )
    assert ("1 x 3g.40gb", "1 x 3g.40gb") == (str(first.goal), str(first.without_forecast))
    # Blind, the second still gets its floor of one replica.
    assert ("1 x 3g.40gb", "1 x 3g.40gb") == (str(second.goal), str(second.without_forecast))


@pytest.mark.parametrize(
    ("mode", "left"), [(Mode.FORECAST_ONLY, 2), (Mode.ADVISE, 2), (Mode.SCALE_UP_ONLY, 0), (Mode.FULL, 0)]
)
def test_only_those_that_may_add_take_room(mode, left):
    scene = fleet(1, standings=[standing("first"), standing("second")])
    only_3g = offers({"3g.40gb": 0.4})
    _, second = additions(
        question(
            scene,
            [workload("first", tier=Tier.STRICT, mode=mode), workload("second")],
            [need("first", 0.8), need("second", 0.8)],
            {"first": only_3g, "second": only_3g},
        )
    )
    assert left == second.goal.replicas


def test_a_plan_first_adds_what_is_missing():
    scene = running(fleet(2), standing("chat", "2 x 2g.20gb"))
    one = question(scene, [workload()], [need(up=0.6)])
    assert additions(one) == plan(one)


def test_a_move_takes_the_room_beside_it_from_those_that_follow():
    scene = running(fleet(2), standing("chat", "1 x whole"), standing("code"))
    tables = {
        "chat": offers({"3g.40gb": 0.4, "whole": 1.0}, Router.LEAST_LOADED),
        "code": offers({"3g.40gb": 0.4}),
    }
    chat, code = plan(
        question(
            scene,
            [workload("chat", tier=Tier.STRICT, router=Router.LEAST_LOADED), workload("code")],
            [need("chat", 0.4), need("code", 0.8)],
            tables,
        )
    )
    assert "1 x 3g.40gb" == str(chat.goal)
    assert ("1 x 3g.40gb", 0.4) == (str(code.goal), pytest.approx(code.short))


@pytest.mark.parametrize("is_led", [False, True], ids=["alone", "led"])
@pytest.mark.parametrize(
    ("waits", "left"),
    [({}, 11), ({"up": 0.0}, 11), ({"mode": Mode.ADVISE}, 12), ({"floor": 0, "up": 0.0}, 12)],
    ids=["short", "below-its-floor", "advice", "nobody"],
)
def test_what_is_a_workload_s_noise_is_given_up_where_another_waits_for_room(waits, left, is_led):
    """A half of a card of six is less than a twentieth, as one half of it counts."""
    up, waits = waits.get("up", 0.4), {name: it for name, it in waits.items() if name != "up"}
    scene = running(fleet(6), standing("chat", "12 x 3g.40gb"), standing("code"))
    halves = offers({"3g.40gb": 0.4})
    asks = [workload("chat"), workload("code", **waits)]
    needs = [need("chat", 11 * 0.4), need("code", up)]
    aims = {key("chat"): configuration("11 x 3g.40gb")} if is_led else {}
    chat, _ = plan(question(scene, asks, needs, {"chat": halves, "code": halves}), aims)
    assert f"{left} x 3g.40gb" == str(chat.goal)


@pytest.mark.parametrize(
    ("foreign", "cards"),
    [
        ([], 0),
        (["gpu-0"], 1),
        (["gpu-0", "gpu-1-mig-1g10gb-19-0"], 2),
        (["gpu-0-mig-3g40gb-9-0", "gpu-1-mig-3g40gb-9-0"], 1),
        (["gpu-0-mig-1g10gb-19-0", "gpu-1-mig-4g40gb-5-0", "gpu-2-mig-3g40gb-9-0"], 2),
    ],
)
def test_scattered_slices_would_take_fewer_cards_if_layouts_could_be_chosen(foreign, cards):
    scene = fleet(3, foreign=[("node-0", name) for name in foreign])
    assert cards == cards_if_packed(scene)
    assert cards <= scene.gpus_in_use


@pytest.mark.parametrize(
    ("empty", "wanted"),
    [(consumable(3), "1 x whole + 3 x 25/100"), (time_sliced(2, 4), "3 x 25/100")],
)
def test_cards_with_shares_count_as_they_are(empty, wanted):
    """No layout is chosen for them."""
    assert 2 == cards_if_packed(running(empty, standing("chat", wanted)))


def test_slices_of_one_board_are_packed_on_cards_of_that_board():
    scene = fleet(1, foreign=[("node-0", "gpu-0-mig-1g10gb-19-0")])
    slices = [Device("node-a", "node-a", f"mig-{n}", "mig", "GPU-a", "1g.6gb", {}) for n in range(4)]
    both = replace(
        scene,
        gpus=(*scene.gpus, Gpu("GPU-a", "node-a", A30_24GB)),
        allocated=(*scene.allocated, *slices),
    )
    assert 2 == cards_if_packed(both)


class TestAims:
    """Two large slices stand where a large and a small one would do; there is room for one small one."""

    MIX = configuration("1 x 1g.10gb + 1 x 3g.40gb")

    def planned(self, aim=MIX, router=Router.LEAST_LOADED, foreign=("4g40gb-5-0", "2g20gb-14-4"), **more):
        held = [("node-0", f"gpu-1-mig-{name}") for name in foreign]
        scene = running(fleet(2, foreign=held), standing("chat", "2 x 3g.40gb"))
        offered = offers({"1g.10gb": 0.1, "3g.40gb": 0.4}, router)
        asked = question(
            scene, [workload(router=router)], [need(up=0.5, **more)], {"chat": offered}, at_s=NOW_S + 7200
        )
        (decision,) = plan(asked, {key("chat"): aim})
        return decision

    def test_what_the_fleet_packs_best_with_is_gone_to_where_that_gives_back_more(self):
        decision = self.planned()
        assert "1 x 1g.10gb + 1 x 3g.40gb" == str(decision.goal)
        assert "with which the fleet takes fewest cards; carries 0.50" in decision.because[0]

    @pytest.mark.parametrize(
        "more",
        [
            {"router": Router.EQUAL},
            {"distrust": ("a pod is not scraped",)},
            {"aim": configuration("1 x 3g.40gb")},
            {"aim": configuration("2 x 1g.10gb + 1 x 3g.40gb")},
            {"aim": configuration("2 x 3g.40gb")},
        ],
        ids=["equal shares", "not trusted", "too little", "no room", "stands already"],
    )
    def test_not_where_it_must_not_or_cannot_be(self, more):
        assert "2 x 3g.40gb" == str(self.planned(**more).goal)

    def test_not_where_one_by_one_ends_better(self):
        """Seven small places are free: five of them, and the card of the large ones is."""
        assert "5 x 1g.10gb" == str(self.planned(foreign=()).goal)
