"""Replicas that are to be spread: apart over fault domains first, together inside one."""

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from allocator.decide import additions, plan
from allocator.packing.standing import standing_on
from allocator.room import room_of
from allocator.target import cards_of, target
from fleet.host import Host, Pods
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import configuration, fleet, key, running, shape, standing

CHAT = key("chat")
ZONES = {f"node-{n}": Host(zone) for n, zone in enumerate(("a", "a", "b", "b"))}
SPREAD = Pods(CHAT, gathers=True, is_spread=True)


def domains(scene, room):
    """Replicas of chat by fault domain, as a room has them."""
    return {domain: n for domain, n in room.stand[CHAT].items() if n}


def scene(text="", cards=4, foreign=(), spread=True):
    """Four nodes of one card in two zones, on which chat stands where the scheduler puts it."""
    made = running(fleet(cards, 1, foreign, hosts=ZONES), standing("chat", text))
    (one,) = made.standings
    marked = replace(one, variants=tuple(replace(v, is_spread=spread) for v in one.variants))
    return replace(made, standings=(marked,))


def asked(of, up, **more):
    return question(of, [workload(floor=2, is_spread=True, **more)], [need(up=up)], {"chat": offers()})


def test_they_are_dealt_out_over_domains_though_copies_gather():
    room = room_of(fleet(4, 1, hosts=ZONES))
    for n, expected in enumerate(({"a": 1}, {"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 2, "b": 2}), 1):
        _, filled = room.fill(shape("1g.10gb"), n, SPREAD)
        assert expected == domains(None, filled)
    assert {"node-0", "node-2"} == {card.rpartition("-")[0].removeprefix("GPU-") for card in filled.held}


def test_where_one_domain_alone_has_room_all_go_there():
    full = [("node-2", "gpu-0"), ("node-3", "gpu-0")]
    placed, room = room_of(fleet(4, 1, full, hosts=ZONES)).fill(shape("1g.10gb"), 3, SPREAD)
    assert (3, {"a": 3}) == (placed, domains(None, room))


def test_a_copy_that_is_yet_to_be_made_will_ask_for_it_as_settings_say():
    one = standing("chat", "1 x whole")
    assert not one.pods(shape("1g.10gb")).is_spread
    assert replace(one, is_spread=True).pods(shape("1g.10gb")).is_spread
    assert not replace(one, is_spread=True).pods(shape("whole")).is_spread  # the user's own says so itself


def test_the_target_has_a_replica_in_each_of_two_domains_and_says_what_that_costs():
    apart = target(asked(scene("2 x whole"), up=0.2))
    together = replace(asked(scene("2 x whole"), up=0.2), workloads=(workload(floor=2),))
    assert (2, 1) == (apart.cards, target(together).cards)
    assert apart.least <= apart.cards


def test_cards_are_told_apart_by_domain_only_where_the_packing_is():
    aim = target(asked(scene("2 x whole"), up=0.2))
    stocks = aim.packing.tableau.problem.stocks
    assert ["a", "b"] == [stock.domain for stock in stocks]
    assert [0, 0, 1, 1] == [card.stock for card in cards_of(scene(), stocks)]
    assert {0} == {card.stock for card in cards_of(scene(), (replace(stocks[0], domain=""),))}
    known = standing_on(aim.packing.tableau.problem, cards_of(scene("3 x whole"), stocks), recut=0, restart=0)
    assert {"a": configuration("2 x whole"), "b": configuration("1 x whole")} == known.asks[0].now


@pytest.mark.parametrize(("spread", "goal"), [(True, "4 x 2g.20gb"), (False, "2 x 2g.20gb")])
def test_a_removal_that_would_leave_all_in_one_domain_is_not_made(spread, goal):
    """The newest leave: here those of zone b."""
    held = scene("4 x 2g.20gb")
    (one,) = held.standings
    late = [
        replace(r, created_at_s=r.created_at_s + 60 * (r.device.node in ("node-2", "node-3")))
        for r in one.variants[0].replicas
    ]
    one = replace(one, variants=(replace(one.variants[0], replicas=tuple(late)),))
    question_of = asked(replace(held, standings=(one,)), up=0.4)
    workloads = tuple(replace(w, is_spread=spread) for w in question_of.workloads)
    offered = {CHAT: offers({"2g.20gb": 0.2})}
    (decision,) = plan(replace(question_of, workloads=workloads, offers=offered))
    assert goal == str(decision.goal)
    if spread:
        assert ("2 x 2g.20gb would leave all replicas in one fault domain",) == decision.because


counts = st.integers(2, 6)
holders = st.lists(st.tuples(st.sampled_from([*ZONES]), st.just("gpu-0")), unique=True, max_size=3)


@settings(max_examples=40, deadline=None)
@given(counts, holders, st.sampled_from(["1g.10gb", "2g.20gb", "3g.40gb", "whole"]))
def test_two_replicas_never_stand_in_one_domain_where_two_have_room(replicas, foreign, profile):
    empty = fleet(4, 1, foreign, hosts=ZONES)
    free = {ZONES[node].domain for node in ZONES.keys() - {node for node, _ in foreign}}
    placed, room = room_of(empty).fill(shape(profile), replicas, SPREAD)
    if placed > 1:
        assert len(free) == len(domains(empty, room))


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["2 x whole", "2 x 3g.40gb", "4 x 2g.20gb", "3 x 1g.10gb"]),
    st.integers(1, 12).map(lambda tenths: tenths / 10),
    st.integers(1, 12).map(lambda tenths: tenths / 10),
    holders,
)
def test_nor_does_a_plan_take_them_there(text, up, keep, foreign):
    profile = next(iter(configuration(text).counts))
    stands = configuration(text).replicas
    assume(stands == room_of(fleet(4, 1, foreign, hosts=ZONES)).fill(profile, stands)[0])
    held = scene(text, foreign=foreign)
    before = room_of(held)
    for decisions in (additions(asked(held, up)), plan(asked(held, up)), plan(asked(held, min(up, keep)))):
        (decision,) = decisions
        (one,) = held.standings
        after = before.beside(replace(one, is_spread=True), decision.goal)
        assert after is not None
        gone = [
            r.device
            for v in one.variants
            for r in sorted(v.replicas, key=lambda r: (-r.created_at_s, r.pod))[
                : max(0, len(v.replicas) - decision.goal.counts.get(v.shape, 0))
            ]
        ]
        assert after.domains_without(CHAT, gone) >= min(
            2, before.domains_without(CHAT), decision.goal.replicas
        )
