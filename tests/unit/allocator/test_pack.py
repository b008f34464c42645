"""Packings of small fleets whose best is known."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from allocator.packing.cards import Card
from allocator.packing.cuts import best_shares
from allocator.packing.pack import pack
from allocator.packing.placement import place
from allocator.packing.problem import Ask, Stock, is_whole
from allocator.packing.standing import standing_on
from allocator.packing.tableau import tableau_of
from fleet.boards import A100_80GB, H100_80GB
from fleet.shape import Configuration, Shape, share_of
from fleet.workload import Router
from tests.builders.fleet import key, shape
from tests.builders.packing import ask, problem, stock

HALVES = {"3g.40gb": 0.5}


def counts(packing, row=0):
    """Replicas of one workload by (fault domain, profile)."""
    pieces = [(one.domain, p.profile) for one in packing.tableau.problem.stocks for p in one.pieces]
    found = packing.packed.columns.counts[row].tolist()
    return {where: n for where, n in zip(pieces, found, strict=True) if n}


@pytest.mark.parametrize(
    ("asks", "cards"),
    [
        ([], 0),
        ([ask("a", 0.5, HALVES)], 1),
        ([ask("a", 0.5, HALVES), ask("b", 0.5, HALVES)], 1),
        ([ask("a", 0.5, HALVES), ask("b", 0.5, HALVES), ask("c", 0.5, HALVES)], 2),
        ([ask("a", 0.7, {"1g.10gb": 0.1})], 1),
        ([ask("a", 0.8, {"1g.10gb": 0.1})], 2),
        ([ask("a", 1.0, {"whole": 1.0}), ask("b", 0.5, HALVES)], 2),
        ([ask("a", 0.0, HALVES)], 0),
        ([ask("a", 0.1, HALVES, floor=3)], 2),
    ],
)
def test_cards_and_proof_of_packings_that_can_be_counted(asks, cards):
    packing = pack(problem(*asks))
    assert (cards, float(cards), 0.0) == (packing.cards, packing.least, packing.gap)


def test_behind_equal_shares_one_shape_is_taken_and_counted_by_its_smallest():
    works = {"1g.10gb": 0.1, "3g.40gb": 0.45}
    assert {("", "3g.40gb"): 2} == counts(pack(problem(ask("a", 0.9, works, Router.EQUAL))))


def test_a_least_loaded_router_may_mix_shapes():
    works = {"1g.10gb": 0.12, "3g.40gb": 0.5}
    assert {("", "3g.40gb"): 1, ("", "1g.10gb"): 1} == counts(pack(problem(ask("a", 0.6, works))))


def test_replicas_that_are_spread_go_round_the_fault_domains():
    two = (stock("a"), stock("b"))
    got = counts(pack(problem(ask("w", 2.0, HALVES, is_spread=True), stocks=two)))
    assert {("a", "3g.40gb"): 2, ("b", "3g.40gb"): 2} == got


def test_one_small_workload_that_is_spread_has_a_replica_in_each_domain():
    two = (stock("a"), stock("b"))
    got = counts(pack(problem(ask("w", 0.1, HALVES, is_spread=True), stocks=two)))
    assert {("a", "3g.40gb"): 1, ("b", "3g.40gb"): 1} == got


def test_the_bound_knows_what_several_replicas_take_where_one_would_do():
    """A whole card and half of one are the least of two or more; a bound by work alone says one card."""
    works = {"whole": 1.0, "3g.40gb": 0.45}
    packing = pack(problem(*(ask(name, 1.0, works, floor=2) for name in "abcd")))
    assert (6, 6) == (packing.cards, packing.least)


def test_the_bound_knows_that_a_workload_may_be_carried_in_part():
    """One card for most of `a`, one for `b`: a bound by what carries all of `a` is above what this costs."""
    whole = {"whole": 1.0}
    asks = [ask("a", 1.3, whole, penalty=10.0), *(ask(name, 1.0, whole, penalty=6.0) for name in "bc")]
    packing = pack(problem(*asks, stocks=(stock(cards=2),)))
    best = (1.0 + 10.0 * 0.325) + 1.0 + 6.0
    assert pytest.approx(best) == packing.packed.cost
    assert best - 0.01 < packing.bound.value <= best


def test_the_cheaper_kind_of_card_is_taken_until_it_is_used_up():
    kinds = (Stock(A100_80GB, price=0.5, cards=1), Stock(H100_80GB, price=1.0, cards=5))
    works = {Shape(A100_80GB.id): 1.0, Shape(H100_80GB.id): 1.0}
    asks = tuple(Ask(key(name), 1.0, works) for name in ("a", "b"))
    packing = pack(problem(*asks, stocks=kinds))
    assert 1.5 == pytest.approx(packing.packed.cost)
    assert ("cards of a100-80gb: 1, one more would save 0.50",) == packing.binding


def test_a_queue_keeps_its_limit_and_says_so():
    asks = [ask(name, 1.0, {"whole": 1.0}, queues=("team",), penalty=10.0) for name in ("a", "b")]
    packing = pack(problem(*asks, queues={"team": 1.0}))
    assert 1 == packing.cards
    assert 1.0 == pytest.approx(packing.packed.columns.short.sum())
    assert "queue team: 1 GPUs" in packing.binding[0]


def test_where_cards_are_too_few_the_cheaper_to_leave_is_left():
    dear, cheap = (ask(name, 1.0, {"whole": 1.0}, penalty=p) for name, p in (("a", 1000.0), ("b", 10.0)))
    packing = pack(problem(dear, cheap, stocks=(stock(cards=1),)))
    assert [0.0, 1.0] == packing.packed.columns.short.tolist()


def test_a_workload_that_may_have_no_replica_is_short_of_all_its_work():
    packing = pack(problem(ask("a", 0.5, HALVES), ask("b", 0.7, HALVES, ceiling=0)))
    assert [0.0, 0.7] == packing.packed.columns.short.tolist()


@pytest.mark.parametrize("cards", [None, 4])
def test_a_workload_that_no_card_can_carry_goes_without_and_keeps_its_place(cards):
    packing = pack(problem(ask("a", 0.5, {}), ask("b", 0.5, HALVES), stocks=(stock(cards=cards),)))
    assert [0.5, 0.0] == packing.packed.columns.short.tolist()
    assert ({}, {("", "3g.40gb"): 1}) == (counts(packing, 0), counts(packing, 1))


def test_one_that_may_not_have_enough_replicas_has_what_they_carry_and_is_short_in_quarters():
    """One of 0.5 carries half of 0.7 and not three quarters."""
    packing = pack(problem(ask("b", 0.7, HALVES, ceiling=1)))
    assert ({("", "3g.40gb"): 1}, [pytest.approx(0.35)]) == (
        counts(packing),
        packing.packed.columns.short.tolist(),
    )


def test_what_is_cut_and_runs_is_kept_where_that_costs_no_card():
    works = {"1g.10gb": 0.25, "3g.40gb": 1.0}
    now = {"": Configuration({shape("1g.10gb"): 4})}
    cut = tuple(4 if p.profile == "1g.10gb" else int(p.profile == "3g.40gb") for p in stock().pieces)
    kept = problem(
        replace(ask("a", 1.0, works), now=now), stocks=(stock(cut={cut: 1}),), recut=0.05, restart=0.01
    )
    assert {("", "1g.10gb"): 4} == counts(pack(kept))


def test_a_cut_that_stands_may_be_kept_though_rounding_makes_it_look_as_dear_as_a_new_one():
    works = [
        (0.1, {"2g.20gb": 0.1}),
        (1.8, {"1g.10gb": 0.25}),
        (1.1, {"4g.40gb": 0.25}),
        (1.3, {"1g.10gb": 0.1, "2g.20gb": 0.4}),
    ]
    asks = [ask(f"w{n}", work, table, Router.EQUAL) for n, (work, table) in enumerate(works)]
    asked = problem(*asks, stocks=(stock(shares=(25, 50)),))
    placed = place(pack(asked), [Card(f"card-{n}", 0, {}) for n in range(60)])
    again = pack(standing_on(asked, placed, recut=0.05, restart=0.01))
    assert 6.0 == pytest.approx(again.packed.cost)


@pytest.mark.parametrize("seed", range(5))
def test_the_best_shares_of_a_card_are_those_by_trying_everything(seed):
    shared = stock(shares=(20, 30, 50))
    price = np.random.default_rng(seed).uniform(0.1, 1.0, 3)
    tried = (n for n in product(range(6), range(4), range(3)) if 20 * n[0] + 30 * n[1] + 50 * n[2] <= 100)
    assert max(float(np.dot(n, price)) for n in tried) == pytest.approx(
        float(best_shares(shared, price) @ price)
    )


def test_shares_fill_a_card_and_never_share_it_with_slices():
    shared = stock(shares=(25, 50))
    asks = [
        ask("a", 0.5, {50: 0.5}),
        ask("b", 0.25, {25: 0.25}),
        ask("c", 0.25, {25: 0.25}),
        ask("d", 0.5, HALVES),
    ]
    packing = pack(problem(*asks, stocks=(shared,)))
    assert (2, 2.0) == (packing.cards, packing.least)


def test_time_slices_of_a_card_are_of_one_size():
    asks = [ask("a", 0.5, {50: 0.5}), ask("b", 0.25, {25: 0.25}), ask("c", 0.25, {25: 0.25})]
    mixed, sliced = stock(shares=(25, 50)), stock(slices=(25, 50))
    packings = [pack(problem(*asks, stocks=(one,))) for one in (mixed, sliced)]
    assert [(1, 1.0), (2, 2.0)] == [(packing.cards, packing.packed.cost) for packing in packings]


def test_a_card_with_time_slices_free_is_cut_as_it_will_be():
    asked = problem(ask("a", 0.5, {25: 0.25}), stocks=(stock(slices=(25, 50)),))
    half = place(pack(asked), [Card("a", 0, {})])
    assert {(0,) * (len(asked.stocks[0].pieces) - 2) + (4, 0): 1} == dict(
        standing_on(asked, half, recut=0.1, restart=0.1).stocks[0].cut
    )


def test_a_queue_counts_shares_slices_and_cards_as_kai_does():
    shared = stock(shares=(25,), spans=(2,))
    asks = ask("a", 0.5, {25: 0.25}), ask("b", 0.5, HALVES)
    kinds = tableau_of(problem(*asks, stocks=(shared,), queues={"team": 9.0})).kinds
    charges = [charge for kind in kinds for charge in kind.charges[0].tolist()]
    found = dict(zip((p.name for p in shared.pieces), charges, strict=True))
    assert (0.25, 1.0, 2.0, 3.0) == (found["25/100"], found["whole"], found["2x"], found["3g.40gb"])
    assert "25/100" == share_of(H100_80GB, 25).profile


def test_costs_are_whole_cards_where_all_cost_the_same_and_nothing_else_does():
    assert is_whole(problem(ask()))
    assert not is_whole(problem(ask(), recut=0.1))
    assert not is_whole(problem(ask(), stocks=(stock("a"), stock("b", price=2.0))))
