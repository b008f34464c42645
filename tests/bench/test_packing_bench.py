"""Figures of packing: time of one core, cards above the proven least, and what rivals need.

Fleets are made up (tests/bench/fleets.py). Times are CPU seconds of this process.
"""

import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from allocator.packing.cards import Card
from allocator.packing.fastpath import Stand, adjust
from allocator.packing.pack import pack
from allocator.packing.placement import place
from allocator.packing.pricing import prices_to
from allocator.packing.standing import standing_on
from allocator.packing.transition import transition
from fleet.workload import Router
from tests.bench import fleets, rivals

CHANGES = 100
pytestmark = pytest.mark.timeout(3600)

MILP_SEEDS = (0, 4, 7)
"""Where the plain program does best; it runs for 20 s each."""


def timed(function, *args, **more):
    began_s = time.process_time()
    answer = function(*args, **more)
    return answer, time.process_time() - began_s


def fresh(problem, spare=1.2):
    """Cards with nothing on them, more than will be needed."""
    return tuple(
        Card(f"{index}-{n:05d}", index, {})
        for index, stock in enumerate(problem.stocks)
        for n in range(stock.cards or int(len(problem.asks) * spare))
    )


def noted(benchmark, **figures):
    """Keep figures beside the timing, and show them; pytest shows what is printed with `-s`."""
    benchmark.extra_info.update(figures)
    sys.stdout.write("\n  " + ", ".join(f"{name} {value}" for name, value in figures.items()) + "\n")


@pytest.mark.parametrize("router", [Router.LEAST_LOADED, Router.EQUAL])
def test_thousand_cards_with_bound(benchmark, router):
    packings = [timed(pack, fleets.on_slices(seed, router=router)) for seed in fleets.SEEDS]
    seconds, gaps = [s for _, s in packings], [packing.gap for packing, _ in packings]
    noted(
        benchmark,
        median_s=f"{np.median(seconds):.3f}",
        worst_s=f"{max(seconds):.3f}",
        worst_gap=f"{max(gaps):.4f}",
        proven_best=sum(gap == 0 for gap in gaps),
    )
    assert 0.5 >= np.median(seconds)
    assert 1.5 >= max(seconds)
    assert 0.005 >= max(gaps)
    assert 15 <= sum(gap == 0 for gap in gaps)
    benchmark(pack, fleets.on_slices(0, router=router))


def test_ten_thousand_cards_with_placement_and_order(benchmark):
    problem = fleets.on_slices(0, 10_000, 10_000)
    before = place(pack(problem), fresh(problem))
    later = fleets.shifted(problem, 0)

    def plan():
        packing = pack(standing_on(later, before, recut=0.05, restart=0.002))
        after = place(packing, before)
        return packing, transition(before, after, later.asks)

    (packing, way), seconds = timed(plan)
    noted(
        benchmark,
        seconds=f"{seconds:.2f}",
        cards=packing.cards,
        gap=f"{packing.gap:.4f}",
        moves=len(way.moves),
    )
    assert 10 >= seconds
    assert not way.stuck
    benchmark.pedantic(plan, rounds=1)


@pytest.mark.parametrize("is_tight", [False, True], ids=["ample queues", "tight queues"])
def test_full_problem(benchmark, is_tight):
    figures = []
    for seed in fleets.SEEDS[:8]:
        problem = fleets.full(seed)
        before = place(pack(problem), fresh(problem))
        later = standing_on(fleets.shifted(problem, seed), before, recut=0.05, restart=0.002)
        if is_tight:
            later = fleets.tightened(later, pack(later))
        packing, seconds = timed(pack, later)
        figures.append((seconds, packing.gap, packing.binding))
    seconds, gaps = [s for s, *_ in figures], [gap for _, gap, _ in figures]
    noted(
        benchmark,
        median_s=f"{np.median(seconds):.2f}",
        worst_s=f"{max(seconds):.2f}",
        median_gap=f"{np.median(gaps):.4f}",
        worst_gap=f"{max(gaps):.4f}",
        bound_by=sum(bool(binding) for *_, binding in figures),
    )
    assert (0.03 if is_tight else 0.02) >= max(gaps)
    assert all(binding for *_, binding in figures)
    benchmark.pedantic(pack, args=(later,), rounds=1)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 4])
def test_one_workload_at_a_time(benchmark, seed):
    problem = fleets.on_slices(seed)
    packing = pack(problem)
    stand, asks = Stand(place(packing, fresh(problem))), list(problem.asks)
    rng, seconds = np.random.default_rng(seed), []
    later = fleets.shifted(problem, seed)
    for nth in rng.choice(len(asks), CHANGES, replace=False).tolist():
        asks[nth] = later.asks[nth]
        prices = prices_to(packing.tableau, nth, packing.worth)
        adjustment, took = timed(adjust, problem.stocks, asks[nth], prices, stand)
        seconds.append(took)
        stand = stand.after(asks[nth], adjustment)
    used = sum(card.is_used for card in stand.cards)
    full = pack(replace(problem, asks=tuple(asks))).cards
    noted(
        benchmark,
        median_ms=f"{1000 * np.median(seconds):.1f}",
        worst_ms=f"{1000 * max(seconds):.1f}",
        extra=f"{used / full - 1:.4f}",
    )
    assert 0.02 >= np.median(seconds)
    assert 1.01 * full >= used
    benchmark(adjust, problem.stocks, asks[nth], prices, stand)


def test_shift_of_demand_disturbs_little(benchmark):
    recut, extra = [], []
    for seed in fleets.SEEDS:
        problem = fleets.on_slices(seed)
        before = place(pack(problem), fresh(problem))
        later = fleets.shifted(problem, seed)
        packing = pack(standing_on(later, before, recut=0.05, restart=0.002))
        after = place(packing, before)
        pairs = [
            (one, other) for one, other in zip(before, after, strict=True) if one.is_used and other.is_used
        ]
        recut.append(sum(bool(set(one.seats) - set(other.seats)) for one, other in pairs) / len(pairs))
        extra.append(packing.cards / pack(later).least - 1)
    noted(
        benchmark,
        worst_recut=f"{max(recut):.4f}",
        mean_recut=f"{np.mean(recut):.4f}",
        worst_extra=f"{max(extra):.4f}",
    )
    assert 0.06 >= max(recut)
    assert 0.04 >= np.mean(recut)
    assert 0.007 >= max(extra)
    benchmark.pedantic(place, args=(packing, before), rounds=1)


def test_fewer_cards_than_any_heuristic_in_every_seed(benchmark):
    rows = []
    for seed in fleets.SEEDS:
        problem = fleets.on_slices(seed)
        rows.append(
            (
                pack(problem).cards,
                rivals.cards_of_first_fit_decreasing(problem),
                rivals.cards_of_hami(problem),
                rivals.cards_of_kai(problem),
            )
        )
    ours, *others = (np.array(column) for column in zip(*rows, strict=True))
    names = ("first_fit_decreasing", "hami", "kai")
    noted(benchmark, **{name: f"+{(o / ours - 1).mean():.3f}" for name, o in zip(names, others, strict=True)})
    assert all((ours < theirs).all() for theirs in others)
    benchmark.pedantic(rivals.cards_of_first_fit_decreasing, args=(fleets.on_slices(0),), rounds=1)


@pytest.mark.parametrize("seed", MILP_SEEDS)
def test_no_more_cards_than_the_plain_integer_program(benchmark, seed):
    problem = fleets.on_slices(seed)
    ours, theirs = pack(problem).cards, rivals.cards_of_plain_milp(problem)
    noted(benchmark, ours=ours, theirs=theirs)
    assert theirs is None or ours <= theirs
    benchmark.pedantic(pack, args=(problem,), rounds=1)
