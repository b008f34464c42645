"""What holds for every placement, every way to it and every change of one workload."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from allocator.packing.cards import Card, layout_of
from allocator.packing.fastpath import Stand, adjust
from allocator.packing.pack import pack
from allocator.packing.placement import place
from allocator.packing.pricing import prices_to
from allocator.packing.standing import standing_on
from allocator.packing.transition import Act, transition
from capacity.routing import carried
from fleet.boards import H100_80GB
from fleet.host import Host, HostAmount
from fleet.mig import is_legal
from fleet.shape import Configuration
from fleet.workload import Router
from tests.builders.packing import ask, problem, stock

SOME = settings(deadline=None, max_examples=15)
SLICES = ("1g.10gb", "2g.20gb", "3g.40gb", "4g.40gb", "whole")
works = st.integers(1, 20).map(lambda tenths: tenths / 10)
tables = st.dictionaries(st.sampled_from(SLICES), st.sampled_from([0.1, 0.25, 0.4, 1.0]), min_size=1)
routers = st.sampled_from([Router.EQUAL, Router.LEAST_LOADED])


NODES = ("a", "b", "c")
CORE = HostAmount(cpu_m=1000)
cores_left = st.fixed_dictionaries({node: st.integers(0, 6) for node in NODES})


def hosts(cores):
    """Nodes with so many cores left."""
    return {node: Host("", HostAmount(cpu_m=1000 * n)) for node, n in cores.items()}


@st.composite
def fleets(draw):
    """A few workloads of a core a replica now and later, and empty cards on three nodes for all of them."""
    drawn = [(draw(tables), draw(routers), draw(works), draw(works)) for _ in range(draw(st.integers(1, 5)))]
    now, later = (
        problem(
            *(ask(f"w{n}", one[at], one[0], one[1], host=CORE) for n, one in enumerate(drawn)),
            stocks=(stock(shares=(25, 50)),),
        )
        for at in (2, 3)
    )
    return now, later, tuple(Card(f"card-{n:03d}", 0, {}, NODES[n % 3]) for n in range(60))


def seats_by_workload(cards):
    count = Counter()
    for card in cards:
        count.update((tenant, seat.shape) for seat, tenant in card.held.items())
    return count


def is_sound(card):
    """One mechanism on a card, and its layout legal."""
    shapes = [seat.shape for seat in card.seats]
    if any(shape.is_whole for shape in shapes):
        return len(shapes) == 1
    shares = [int(shape.profile.split("/")[0]) for shape in shapes if "/" in shape.profile]
    if shares:
        return len(shares) == len(shapes) and sum(shares) <= 100
    return is_legal(H100_80GB, layout_of(card.seats))


@SOME
@given(fleets())
def test_a_placement_seats_exactly_what_was_packed_on_sound_cards(drawn):
    now, _, cards = drawn
    packing = pack(now)
    placed = place(packing, cards)

    expected = Counter()
    for row, one in enumerate(now.asks):
        for piece, n in zip(now.stocks[0].pieces, packing.packed.columns.counts[row].tolist(), strict=True):
            expected[one.key, piece] += n
    assert +expected == seats_by_workload(placed)
    assert all(is_sound(card) for card in placed)
    assert sum(card.is_used for card in placed) <= packing.cards


@SOME
@given(fleets())
def test_the_same_demand_again_moves_nobody(drawn):
    now, _, cards = drawn
    placed = place(pack(now), cards)
    again = pack(standing_on(now, placed, recut=0.05, restart=0.01))

    assert placed == place(again, placed)
    assert () == transition(placed, place(again, placed), now.asks).moves


@SOME
@given(fleets(), cores_left)
def test_on_the_way_nobody_is_short_no_seat_is_taken_twice_and_no_node_is_overdrawn(drawn, cores):
    now, later, cards = drawn
    before = place(pack(now), cards)
    after = place(pack(standing_on(later, before, recut=0.05, restart=0.01)), before, hosts(cores))
    way = transition(before, after, later.asks, hosts(cores))

    node, left = {card.uuid: card.node for card in cards}, dict(cores)
    seats = {card.uuid: dict(card.held) for card in before}
    asked = {one.key: one for one in later.asks}

    def carries(key):
        runs = Counter(s.shape for held in seats.values() for s, tenant in held.items() if tenant == key)
        return carried(Configuration(runs), asked[key].works, asked[key].router)

    least = {key: min(one.work, carries(key)) for key, one in asked.items()}
    for move in way.moves:
        if move.act is Act.START:
            assert move.seat not in seats[move.card]
            left[node[move.card]] -= 1
            seats[move.card][move.seat] = move.workload
            assert is_sound(Card(move.card, 0, seats[move.card]))
        elif move.act is Act.STOP:
            assert move.workload == seats[move.card].pop(move.seat)
            left[node[move.card]] += 1
        assert min(left.values()) >= 0
        if move.workload is not None:
            assert carries(move.workload) >= least[move.workload] - 1e-9
    if not way.stuck:
        assert {card.uuid: dict(card.held) for card in after} == seats


@SOME
@given(fleets(), st.none() | cores_left, st.data())
def test_one_workloads_change_carries_it_leaves_the_others_and_keeps_cards_and_nodes_sound(
    drawn, cores, data
):
    now, later, cards = drawn
    packing = pack(now)
    placed = place(packing, cards)
    nth = data.draw(st.integers(0, len(now.asks) - 1))
    one = standing_on(replace(later), placed, recut=0.0, restart=0.0).asks[nth]

    stand = Stand(placed, hosts(cores or {}))
    adjustment = adjust(now.stocks, one, prices_to(packing.tableau, nth, packing.worth), stand)
    if adjustment is None:
        assert cores is not None
        return
    if cores is not None:
        node = {card.uuid: card.node for card in placed}
        assert Counter(node[uuid] for uuid, _ in adjustment.takes) <= Counter(cores)
    changed = stand.after(one, adjustment).cards

    runs = Counter(seat.shape for card in changed for seat, tenant in card.held.items() if tenant == one.key)
    assert carried(Configuration(runs), one.works, one.router) >= one.work - 1e-9
    assert all(is_sound(Card(card.uuid, 0, card.held)) for card in changed)
    others = {k: n for k, n in seats_by_workload(placed).items() if k[0] != one.key}
    assert others == {k: n for k, n in seats_by_workload(changed).items() if k[0] != one.key}
    assert adjustment == adjust(now.stocks, one, prices_to(packing.tableau, nth, packing.worth), stand)
    grown = sum(card.is_used for card in changed) - sum(card.is_used for card in placed)
    assert grown == adjustment.opened
