"""One workload's change by stored prices: what most decisions are, in milliseconds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from allocator.packing.cards import Card, Seat
from allocator.packing.columns import Prices, distinct, value
from allocator.packing.dealing import present
from allocator.packing.nodes import Nodes
from allocator.packing.pricing import beside, cheapest
from allocator.packing.problem import Ask, Problem, Stock
from allocator.packing.room import StockRoom, mix_of
from allocator.packing.rows import joined
from allocator.packing.tableau import tableau_of
from fleet.host import Host
from fleet.shape import Shape

TRIES = 8
"""Prices beside the stored ones at which more configurations are looked for."""

TRIED = 6
"""Configurations that are tried out on the cards, cheapest first."""

OPENED = 0.5
"""What a card taken into use counts beside the price of the pieces: others will use the rest of it."""

MOVED = 2
"""Cards that it may leave whole for seats beside others; where it has more to itself, they stay."""


@dataclass(frozen=True, slots=True)
class Adjustment:
    """One workload's change on real cards.

    Attributes:
        takes: Seats that new replicas take, by card.
        leaves: Seats that are given back once those run.
        opened: Cards taken into use, less those that are given back whole.
        price: What the configuration is worth at the stored prices.
        short: Work that stays uncarried.
    """

    takes: tuple[tuple[str, Seat], ...]
    leaves: tuple[tuple[str, Seat], ...]
    opened: int
    price: float
    short: float


def adjust(
    stocks: tuple[Stock, ...],
    ask: Ask,
    prices: Prices,
    cards: Sequence[Card],
    hosts: Mapping[str, Host] | None = None,
) -> Adjustment | None:
    """Return what one workload should take and give back, all others left where they are.

    The cheapest configurations at the stored prices are tried out on the cards: the one whose pieces and
    newly opened cards cost least is taken, of equals the one that starts fewest replicas. Every seat is legal
    beside those in use, what is left stays in use until the new replicas run. `None` where no card has room
    for any of the configurations, and for a workload with replicas over several cards, which a plan seats.
    `prices` come from the last full packing of the same stocks. New replicas go where nodes have the CPU, the
    memory and the place for them: `hosts` by name, with what is left of them; queues are not looked at.
    """
    if any(seat.shape.cards > 1 for card in cards for seat, key in card.held.items() if key == ask.key):
        return None
    tableau = tableau_of(Problem(stocks, (ask,)))
    free = Prices(prices.piece, np.zeros(tableau.limits.size))
    tried = [cheapest(tableau, each) for each in (free, *beside(free, TRIES))]
    candidates = distinct(joined(present(tableau, free), *tried))
    worth = value(candidates, free)
    pieces = [(index, piece) for index, stock in enumerate(stocks) for piece in stock.pieces]
    rooms = {
        index: StockRoom(stock, [card for card in cards if card.stock == index], mix_of(cards, index))
        for index, stock in enumerate(stocks)
    }
    nodes = Nodes(hosts or {}, (ask,), cards)
    mine = _mine(ask, cards)
    best: tuple[float, int, int] | None = None
    chosen: Adjustment | None = None
    for row in np.lexsort((candidates.counts.sum(axis=1), worth)).tolist()[:TRIED]:
        for held in mine:
            trial = _Trial(stocks, pieces, candidates.counts[row].tolist(), held)
            found = trial.on(rooms, nodes.fork(), float(worth[row]), float(candidates.short[row]))
            if found is None:
                continue
            score = (found.price + trial.cost, len(found.takes), row)
            if best is None or score < best:
                best, chosen = score, found
    return chosen


def _mine(ask: Ask, cards: Sequence[Card]) -> list[_Held]:
    """Return the cards that the workload sits on: all may stay, or only those that it shares with others."""
    mine = [card for card in cards if ask.key in card.held.values()]
    shared = [card for card in mine if any(tenant != ask.key for tenant in card.held.values())]
    few_alone = 0 < len(mine) - len(shared) <= MOVED
    return [_Held(ask, mine, mine)] + ([_Held(ask, mine, shared)] if few_alone else [])


class _Held:
    """Seats that a workload has, those that stay longest first: beside most others."""

    def __init__(self, ask: Ask, mine: Sequence[Card], staying: Sequence[Card]) -> None:
        self.key = ask.key
        self.seats: dict[tuple[int, Shape], list[tuple[str, Seat]]] = defaultdict(list)
        self.given_back: list[tuple[str, Seat]] = []
        self.left = {card.uuid for card in mine} - {card.uuid for card in staying}
        self.others: dict[str, int] = {}
        self.of_card: Counter[str] = Counter()
        self.stock = {card.uuid: card.stock for card in mine}
        for card in sorted(mine, key=lambda card: (-len(card.held), card.uuid)):
            own = sorted(seat for seat, tenant in card.held.items() if tenant == ask.key)
            self.others[card.uuid] = len(card.held) - len(own)
            self.of_card[card.uuid] = len(own)
            for seat in own:
                if card in staying:
                    self.seats[card.stock, seat.shape].append((card.uuid, seat))
                else:
                    self.given_back.append((card.uuid, seat))


class _Trial:
    """One configuration tried out on the cards."""

    def __init__(
        self, stocks: tuple[Stock, ...], pieces: list[tuple[int, Shape]], counts: list[int], held: _Held
    ) -> None:
        self._stocks, self._held = stocks, held
        self._wanted = [(index, piece, n) for (index, piece), n in zip(pieces, counts, strict=True)]
        self.cost = 0.0

    def on(
        self, rooms: Mapping[int, StockRoom], nodes: Nodes, price: float, short: float
    ) -> Adjustment | None:
        """Return what is taken and left, `None` where there is no room; sets what the cards cost."""
        forks: dict[int, StockRoom] = {}
        takes, leaves, opened = [], [*self._held.given_back], 0
        for index, piece, n in self._wanted:
            mine = self._held.seats.get((index, piece), [])
            leaves += mine[n:]
            for _ in range(n - len(mine)):
                room = forks.setdefault(index, rooms[index].fork(self._held.left))
                taken = room.take(piece)
                while taken is not None and nodes.lacks(self._held.key, taken[0]):
                    room = forks[index] = room.fork(nodes.beside(taken[0]))
                    taken = room.take(piece)
                if taken is None:
                    return None
                uuid, seat, is_new = taken
                nodes.start(self._held.key, uuid, seat)
                takes.append((uuid, seat))
                opened += is_new
                self.cost += OPENED * self._stocks[index].price * is_new
        left, used = Counter(uuid for uuid, _ in leaves), {uuid for uuid, _ in takes}
        closed = [
            uuid
            for uuid, n in left.items()
            if not self._held.others[uuid] and n == self._held.of_card[uuid] and uuid not in used
        ]
        self.cost -= sum(OPENED * self._stocks[self._held.stock[uuid]].price for uuid in closed)
        return Adjustment(tuple(takes), tuple(leaves), opened - len(closed), price, short)


def applied(cards: Sequence[Card], ask: Ask, adjustment: Adjustment) -> tuple[Card, ...]:
    """Return the cards once an adjustment is through: cards cut as they are used."""
    taken, left = defaultdict(list), defaultdict(list)
    for uuid, seat in adjustment.takes:
        taken[uuid].append(seat)
    for uuid, seat in adjustment.leaves:
        left[uuid].append(seat)
    after = []
    for card in cards:
        if card.uuid not in taken and card.uuid not in left:
            after.append(card)
            continue
        held = {seat: tenant for seat, tenant in card.held.items() if seat not in left[card.uuid]}
        after.append(replace(card, seats={**held, **dict.fromkeys(taken[card.uuid], ask.key)}))
    return tuple(after)
