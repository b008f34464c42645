"""Which card is cut how, and who sits where: the plan on real cards, with the least disruption."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from allocator.packing.cards import Card, Seat, layout_of
from allocator.packing.master import solver
from allocator.packing.nodes import Nodes
from allocator.packing.pack import Packing
from allocator.packing.problem import Cut, Stock
from allocator.packing.spanning import Tenants, seated_together
from allocator.packing.tableau import Floats, Ints
from fleet.boards import Board
from fleet.errors import InputError
from fleet.host import Host
from fleet.mig import Layout, realise
from fleet.shape import Shape
from fleet.workload import WorkloadKey

Wanted = Counter[tuple[WorkloadKey, int, Shape]]
"""Replicas still to be seated, by workload, stock and shape."""

RECUT = 0.25
"""What cutting a card anew counts beside one replica that has to move."""


def place(
    packing: Packing, cards: Sequence[Card], hosts: Mapping[str, Host] | None = None
) -> tuple[Card, ...]:
    """Return every card as it is cut and seated once the packing stands.

    Cards with the same layout and the same replicas that may stay are one class; classes are matched to cuts
    so that the fewest replicas move (a transportation problem, whose vertices are whole numbers). Replicas
    whose seat is kept stay; the others are seated where a seat is free already, then on fresh cards, then on
    cards that are cut anew.

    Replicas over several cards are seated first, each on cards of one node. A node without the CPU, memory or
    place for one more pod is passed over as long as another has a seat: `hosts` by name, as they are now.

    `InputError` naming the missing cards if there are too few, or none that are joined.
    """
    wanted = _wanted(packing)
    together: dict[str, Tenants] = {}
    for index in range(len(packing.tableau.problem.stocks)):
        wide = {(k, s): n for (k, at, s), n in wanted.items() if at == index and s.cards > 1}
        together |= seated_together(wide, [card for card in cards if card.stock == index])
    wanted = Counter({one: n for one, n in wanted.items() if one[2].cards == 1})
    rest = [card for card in cards if card.uuid not in together]
    staying = _staying(rest, wanted)
    seated: dict[str, Card] = {}
    for index, stock in enumerate(packing.tableau.problem.stocks):
        mine = [card for card in rest if card.stock == index]
        for card, cut in _matched(stock, mine, cuts_wanted(packing, index), staying):
            seated[card.uuid] = _cut(stock, card, cut, staying[card.uuid])
    for card in seated.values():
        wanted.subtract((tenant, card.stock, seat.shape) for seat, tenant in card.held.items())
    before = {card.uuid: card for card in cards}
    fixed = {card.uuid: replace(card, seats=together[card.uuid]) for card in cards if card.uuid in together}
    nodes = _nodes(packing, before, seated | fixed, hosts or {})
    filled = _filled(seated, before, wanted, nodes) | fixed
    return tuple(filled[card.uuid] for card in cards)


def _wanted(packing: Packing) -> Wanted:
    tableau, columns = packing.tableau, packing.packed.columns
    wanted: Wanted = Counter()
    for index, stock in enumerate(tableau.problem.stocks):
        first = tableau.offsets[index]
        rows, nths = np.nonzero(columns.counts[:, first : first + len(stock.pieces)])
        for row, nth in zip(rows.tolist(), nths.tolist(), strict=True):
            key = tableau.problem.asks[int(columns.ask[row])].key
            wanted[key, index, stock.pieces[nth]] += int(columns.counts[row, first + nth])
    return wanted


def _staying(cards: Sequence[Card], wanted: Wanted) -> dict[str, dict[Seat, WorkloadKey]]:
    """Return the replicas that may stay by card: as many as are wanted, on the fullest cards first."""
    left = Counter(wanted)
    staying: dict[str, dict[Seat, WorkloadKey]] = {card.uuid: {} for card in cards}
    for card in sorted(cards, key=lambda card: (-len(card.held), card.uuid)):
        for seat, tenant in sorted(card.held.items(), key=lambda item: item[0]):
            if left[tenant, card.stock, seat.shape] > 0:
                left[tenant, card.stock, seat.shape] -= 1
                staying[card.uuid][seat] = tenant
    return staying


def cuts_wanted(packing: Packing, index: int) -> list[tuple[Cut, int]]:
    """Return the cuts of single cards of one stock with their number of cards."""
    tableau, packed = packing.tableau, packing.packed
    first, last = tableau.offsets[index], tableau.offsets[index + 1]
    count: Counter[Cut] = Counter()
    for row in np.flatnonzero((packed.cuts.stock == index) & (packed.cards > 0)).tolist():
        if packed.cuts.width[row] == 1:
            count[tuple(packed.cuts.counts[row, first:last].tolist())] += int(packed.cards[row])
    return sorted(count.items())


def _matched(
    stock: Stock,
    cards: Sequence[Card],
    targets: list[tuple[Cut, int]],
    staying: dict[str, dict[Seat, WorkloadKey]],
) -> Iterator[tuple[Card, Cut | None]]:
    """Yield each card with the cut it gets, `None` for cards that are left alone or emptied."""
    missing = sum(n for _, n in targets) - len(cards)
    if missing > 0:
        raise InputError(f"{missing} more cards are needed", where=f"board {stock.board.id}", fix="add cards")
    if not cards:
        return
    classes: dict[tuple[tuple[Seat, ...], tuple[Seat, ...]], list[Card]] = defaultdict(list)
    for card in sorted(cards, key=lambda card: card.uuid):
        classes[tuple(sorted(card.seats)), tuple(sorted(staying[card.uuid]))].append(card)
    rows = sorted(classes)
    every: list[Cut | None] = [None, *(cut for cut, _ in targets)]
    cost = np.array([[_disruption(stock, seats, kept, cut) for cut in every] for seats, kept in rows])
    supply = np.array([len(classes[row]) for row in rows])
    demand = np.array([-missing, *(n for _, n in targets)])
    for row, flows in zip(rows, transport(cost, supply, demand), strict=True):
        queue = iter(classes[row])
        for cut, n in zip(every, flows.tolist(), strict=True):
            for _ in range(n):
                yield next(queue), cut


def _disruption(stock: Stock, seats: tuple[Seat, ...], kept: tuple[Seat, ...], cut: Cut | None) -> float:
    """Return how many replicas would have to move, and a little where the card would be cut anew."""
    if cut is None:
        return float(len(kept))
    after = _recut(stock, cut, seats, kept)
    return len(set(kept) - after) + (RECUT if seats and set(seats) - after else 0.0)


def _recut(stock: Stock, cut: Cut, seats: tuple[Seat, ...], kept: tuple[Seat, ...]) -> frozenset[Seat]:
    """Return the seats of a cut: like those now where that moves nobody, else like those who stay."""
    as_now = seats_of(stock, cut, seats)
    return as_now if as_now.issuperset(kept) else seats_of(stock, cut, kept)


@lru_cache(maxsize=1 << 16)
def seats_of(stock: Stock, cut: Cut, kept: tuple[Seat, ...]) -> frozenset[Seat]:
    """Return the seats of a cut, arranged so that most of the kept ones are among them."""
    counts = {piece: n for piece, n in zip(stock.pieces, cut, strict=True) if n}
    if any(piece.hundredths or piece.is_whole for piece in counts):
        seats: set[Seat] = set()
        for piece, n in counts.items():
            alike = [seat.start for seat in kept if seat.shape == piece][:n]
            fresh = (start for start in range(n + len(alike)) if start not in alike)
            seats |= {Seat(piece, start) for start in (*alike, *(next(fresh) for _ in range(n - len(alike))))}
        return frozenset(seats)
    keep = layout_of(seat for seat in kept if seat.is_mig)
    layout = _realised(stock.board, tuple(sorted((p.profile, n) for p, n in counts.items())), keep)
    return frozenset(Seat(Shape(stock.board.id, at.profile), at.start) for at in layout)


@lru_cache(maxsize=1 << 16)
def _realised(board: Board, counts: tuple[tuple[str, int], ...], keep: Layout) -> Layout:
    layout = realise(board, dict(counts), keep)
    if layout is None:
        raise InputError(f"no layout holds {counts}", where=f"board {board.id}", fix="cut another way")
    return layout


def _cut(stock: Stock, card: Card, cut: Cut | None, kept: dict[Seat, WorkloadKey]) -> Card:
    """Return a card cut anew, with those who keep their seat; one that is not needed has no seats."""
    if cut is None:
        return replace(card, seats={})
    after = _recut(stock, cut, tuple(sorted(card.seats)), tuple(sorted(kept)))
    return replace(card, seats={seat: kept.get(seat) for seat in sorted(after)})


def _nodes(
    packing: Packing, before: Mapping[str, Card], after: Mapping[str, Card], hosts: Mapping[str, Host]
) -> Nodes:
    """Return what nodes have for those who are still to be seated, once those that go have gone."""
    nodes = Nodes(hosts, packing.tableau.problem.asks, before.values())
    for uuid, card in before.items():
        was, will = card.held.items(), after[uuid].held.items()
        for seat, tenant in was - will:
            nodes.stop(tenant, uuid, seat)
        for seat, tenant in will - was:
            nodes.start(tenant, uuid, seat)
    return nodes


def _filled(
    seated: dict[str, Card], before: dict[str, Card], wanted: Wanted, nodes: Nodes
) -> dict[str, Card]:
    """Return the cards once everyone has a seat."""
    free: dict[tuple[int, Shape], list[tuple[int, str, Seat]]] = defaultdict(list)
    for card in seated.values():
        was = before[card.uuid]
        for seat, tenant in card.seats.items():
            if tenant is None:
                late = 0 if seat in was.seats and was.seats[seat] is None else 1 if not was.is_used else 2
                free[card.stock, seat.shape].append((late, card.uuid, seat))
    for seats in free.values():
        seats.sort(reverse=True)
    taken: dict[str, dict[Seat, WorkloadKey | None]] = {
        uuid: dict(card.seats) for uuid, card in seated.items()
    }
    for (key, stock, shape), n in sorted(wanted.items()):
        for _ in range(n):
            seats = free[stock, shape]
            fits = (nth for nth in range(len(seats) - 1, -1, -1) if not nodes.lacks(key, seats[nth][1]))
            _, uuid, seat = seats.pop(next(fits, -1))
            nodes.start(key, uuid, seat)
            taken[uuid][seat] = key
    return {uuid: replace(card, seats=taken[uuid]) for uuid, card in seated.items()}


def transport(cost: Floats, supply: Ints, demand: Ints) -> Ints:
    """Return how many of each supply go to each demand at the least cost, shape (supplies, demands).

    Both add up to the same number. The vertices of this program are whole numbers, so a simplex solver ends
    in one.
    """
    rows, columns = cost.shape
    highs = solver()
    both = np.concatenate([supply, demand]).astype(float)
    empty = np.zeros(0, dtype=np.int32)
    highs.addRows(both.size, both, both, 0, np.zeros(both.size, dtype=np.int32), empty, np.zeros(0))
    n = rows * columns
    index = np.stack([np.repeat(np.arange(rows), columns), rows + np.tile(np.arange(columns), rows)], axis=1)
    starts = 2 * np.arange(n, dtype=np.int32)
    unlimited = np.full(n, np.inf)
    highs.addCols(
        n, cost.ravel(), np.zeros(n), unlimited, 2 * n, starts, index.ravel().astype(np.int32), np.ones(2 * n)
    )
    highs.run()
    flow: Ints = np.rint(np.array(highs.getSolution().col_value)).astype(np.int64).reshape(rows, columns)
    return flow
