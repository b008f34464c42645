"""What holds for every packing, whatever is asked and whatever cards there are."""

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.packing.pack import pack
from capacity.routing import carried
from fleet.boards import A30_24GB
from fleet.host import HostAmount
from fleet.ledgers.kai import Cards, Instances, Share, asked_gpus, bound_gpus, card_mib
from fleet.ledgers.queues import UNLIMITED, Queue, queues_of
from fleet.mig import realise
from fleet.shape import Configuration, Shape
from fleet.workload import Router
from tests.builders.packing import PROFILES, ask, problem, stock

works = st.integers(1, 30).map(lambda tenths: tenths / 10)
capacities = st.dictionaries(st.sampled_from(PROFILES), st.sampled_from([0.1, 0.25, 0.4, 1.0]), min_size=1)


@st.composite
def asks(draw, name, shares=(), queues=((),)):
    """One workload: on slices, or on shares where there are some."""
    table = draw(capacities)
    if shares and draw(st.booleans()):
        table = draw(st.dictionaries(st.sampled_from(shares), st.sampled_from([0.1, 0.2, 0.5]), min_size=1))
    floor = draw(st.integers(0, 3))
    host = HostAmount(draw(st.sampled_from([0, 500, 8000])), draw(st.sampled_from([0, 16])) << 30)
    return ask(
        name,
        draw(works),
        table,
        draw(st.sampled_from([Router.EQUAL, Router.LEAST_LOADED])),
        floor,
        is_spread=draw(st.booleans()),
        queues=draw(st.sampled_from(queues)),
        host=host,
    )


@st.composite
def problems(draw):
    """Up to six workloads on one or two fault domains, with or without limits."""
    shares = draw(st.sampled_from([(), (20, 30, 50)]))
    cards = draw(st.none() | st.integers(0, 6))
    domains = draw(st.sampled_from([("a",), ("a", "b")]))
    limit = draw(st.none() | st.integers(0, 4))
    queues = ((), ("team",), ("team", "guaranteed"))
    named = [draw(asks(f"w{n}", shares, queues)) for n in range(draw(st.integers(1, 6)))]
    host = draw(st.none() | st.just(HostAmount(20_000, 64 << 30)))
    stocks = tuple(stock(domain, cards=cards, shares=shares, host=host) for domain in domains)
    limits = {} if limit is None else {"team": float(limit), "guaranteed": limit / 2}
    return problem(*named, stocks=stocks, queues=limits)


def configuration(packing, row):
    """Replicas of one workload by shape, fault domains added up."""
    pieces = [piece for one in packing.tableau.problem.stocks for piece in one.pieces]
    counts = {}
    for piece, n in zip(pieces, packing.packed.columns.counts[row].tolist(), strict=True):
        counts[piece] = counts.get(piece, 0) + n
    return Configuration(counts)


@settings(deadline=None, max_examples=25)
@given(problems())
def test_every_workload_is_carried_by_its_routers_rule_or_said_to_be_short(asked):
    packing = pack(asked)
    for row, one in enumerate(asked.asks):
        got = carried(configuration(packing, row), one.works, one.router)
        assert got >= one.work - packing.packed.columns.short[row] - 1e-6
        assert (
            one.limits.min_replicas <= configuration(packing, row).replicas
            or packing.packed.columns.short[row]
        )


@settings(deadline=None, max_examples=25)
@given(problems())
def test_cut_cards_hold_what_is_taken_of_them_and_every_cut_is_legal(asked):
    packing = pack(asked)
    packed = packing.packed
    assert (packed.columns.counts.sum(axis=0) <= packed.cards @ packed.cuts.counts).all()
    for index, stocked in enumerate(asked.stocks):
        first = packing.tableau.offsets[index]
        mine = (packed.cuts.stock == index) & (packed.cards > 0)
        assert stocked.cards is None or packed.cards[packed.cuts.stock == index].sum() <= stocked.cards
        for counts in packed.cuts.counts[mine]:
            cut = dict(zip(stocked.pieces, counts[first : first + len(stocked.pieces)].tolist(), strict=True))
            mig = {p.profile: n for p, n in cut.items() if n and not p.hundredths and not p.is_whole}
            share = sum(p.hundredths * n for p, n in cut.items())
            whole = sum(n for p, n in cut.items() if p.is_whole)
            assert 1 == (bool(mig) + bool(share) + whole)
            assert share <= 100
            assert realise(stocked.board, mig) is not None


@settings(deadline=None, max_examples=25)
@given(problems())
def test_queues_keep_their_limits(asked):
    packing = pack(asked)
    taken = packing.packed.columns.charge.sum(axis=0).tolist()
    for gpus, limit in zip(taken[: len(asked.queues)], asked.queues.values(), strict=True):
        assert gpus <= limit + 1e-6


@settings(deadline=None, max_examples=25)
@given(problems())
def test_nodes_have_the_cpu_and_memory_of_all_that_runs_on_them(asked):
    packing = pack(asked)
    replicas = packing.packed.columns.counts.sum(axis=1).tolist()
    hosts = [one.host for n, one in zip(replicas, asked.asks, strict=True) for _ in range(n)]
    there = [one.host for one in asked.stocks]
    if None not in there:
        assert "" == sum(there, HostAmount()).lacks_for(sum(hosts, HostAmount()))


def kai_ask(piece):
    """What a pod asks of KAI."""
    if piece.hundredths:
        return Share(piece.hundredths / 100)
    return Cards(piece.cards) if piece.is_whole else Instances({f"nvidia.com/mig-{piece.profile}": 1})


@settings(deadline=None, max_examples=25)
@given(problems(), st.randoms(use_true_random=False))
def test_kai_binds_all_of_a_packing_in_whatever_order_it_comes(asked, random):
    packing = pack(asked)
    ledger = queues_of(Queue(name, quota=UNLIMITED, limit=limit) for name, limit in asked.queues.items())
    card = card_mib(81559)
    replicas = [
        (name, piece)
        for row, one in enumerate(asked.asks)
        for piece, n in configuration(packing, row).counts.items()
        for name in one.queues
        for _ in range(n * (name in asked.queues))
    ]
    random.shuffle(replicas)
    for name, piece in replicas:
        one = kai_ask(piece)
        assert ledger.refusal(name, asked_gpus(one, card), fixed=False) is None
        ledger = ledger.bind(name, bound_gpus(one, card), fixed=False)


@settings(deadline=None, max_examples=25)
@given(problems())
def test_no_packing_costs_less_than_the_bound(asked):
    packing = pack(asked)
    assert packing.bound.value <= packing.packed.cost + 1e-6


@settings(deadline=None, max_examples=25)
@given(problems())
def test_the_same_problem_has_the_same_packing(asked):
    one, other = pack(asked), pack(asked)
    assert (one.packed.columns.counts == other.packed.columns.counts).all()
    assert (one.packed.cards == other.packed.cards).all()
    assert one.bound.value == other.bound.value


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(works, works), min_size=1, max_size=5), capacities, st.sampled_from(Router))
def test_more_work_never_takes_fewer_cards_than_less_work_is_proven_to_need(pairs, table, router):
    less = pack(problem(*(ask(f"w{n}", a, table, router) for n, (a, _) in enumerate(pairs))))
    more = pack(problem(*(ask(f"w{n}", a + b, table, router) for n, (a, b) in enumerate(pairs))))
    assert less.least <= more.cards
    if less.gap == 0:
        assert less.cards <= more.cards


def cheapest_by_trying(needs, capacity):
    """Cards of an A30 for two workloads, by trying every pair of configurations."""
    names = [p.name for p in A30_24GB.profiles if not p.media_extension]
    counts = list(product(range(5), range(3), range(2)))

    def cards(total):
        small, middle, large = total
        return large + -(-(small + 2 * middle) // 4)

    choices = [
        [
            c
            for c in counts
            if sum(n * capacity[name] for n, name in zip(c, names, strict=True)) >= need - 1e-9
        ]
        for need in needs
    ]
    return min(cards(np.add(one, other)) for one in choices[0] for other in choices[1])


@settings(deadline=None, max_examples=25)
@given(st.tuples(*[st.integers(1, 9).map(lambda n: n / 10)] * 2))
def test_small_problems_are_packed_as_well_as_by_trying_everything(needs):
    capacity = {"1g.6gb": 0.2, "2g.12gb": 0.45, "4g.24gb": 1.0}
    table = {Shape(A30_24GB.id, name): work for name, work in capacity.items()}
    named = [ask(f"w{n}", need, {}) for n, need in enumerate(needs)]
    asked = problem(
        *(type(one)(one.key, one.work, table, one.router, one.limits) for one in named),
        stocks=(stock(board=A30_24GB, profiles=tuple(capacity)),),
    )

    packing = pack(asked)

    assert cheapest_by_trying(needs, capacity) == packing.cards
    assert packing.least <= packing.cards
