"""One workload's change by stored prices: what most decisions are, in milliseconds."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from allocator.market import NO_TEAMS, Teams
from allocator.packing.cards import Card, Seat
from allocator.packing.columns import Prices, distinct, value
from allocator.packing.dealing import present
from allocator.packing.nodes import Nodes
from allocator.packing.pricing import beside, cheapest
from allocator.packing.problem import Ask, Problem, Stock
from allocator.packing.room import Mix, StockRoom, mix_of
from allocator.packing.rows import joined
from allocator.packing.tableau import Floats, tableau_of
from fleet.host import NOTHING, Host
from fleet.shape import Shape

TRIES = 8
"""Prices beside the stored ones at which more configurations are looked for."""

TRIED = 6
"""Configurations that are tried out on the cards, cheapest first."""

OPENED = 0.5
"""What a card taken into use counts beside the price of the pieces: others will use the rest of it."""

STAYS = 0.02
"""What leaving the present configuration counts: near ties would take turns, as seats are the scheduler's."""

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
    """

    takes: tuple[tuple[str, Seat], ...]
    leaves: tuple[tuple[str, Seat], ...]
    opened: int
    price: float


@dataclass(frozen=True, slots=True)
class Stand:
    """What changes are made to.

    Attributes:
        cards: Cards, with who sits on them.
        hosts: Their nodes by name, with what is left of them; others have enough.
        teams: What queues still let workloads have.
        mixes: Chance of each MIG profile to be asked for next, by stock; where it is not said, as often as it
            is in use now.
    """

    cards: tuple[Card, ...]
    hosts: Mapping[str, Host] = field(default_factory=dict, hash=False)
    teams: Teams = NO_TEAMS
    mixes: Mapping[int, Mix] = field(default_factory=dict, hash=False)

    def mix_of(self, stock: int) -> Mix:
        """Return the chance of each MIG profile to be asked for next on cards of a stock."""
        return self.mixes.get(stock) or mix_of(self.cards, stock)

    def after(self, ask: Ask, adjustment: Adjustment) -> Stand:
        """Return what stands once an adjustment is through: cards cut as they are used."""
        taken, left = defaultdict(list), defaultdict(list)
        for uuid, seat in adjustment.takes:
            taken[uuid].append(seat)
        for uuid, seat in adjustment.leaves:
            left[uuid].append(seat)
        cards, hosts, teams = [], dict(self.hosts), self.teams
        for card in self.cards:
            if card.uuid not in taken and card.uuid not in left:
                cards.append(card)
                continue
            held = {seat: tenant for seat, tenant in card.held.items() if seat not in left[card.uuid]}
            cards.append(replace(card, seats={**held, **dict.fromkeys(taken[card.uuid], ask.key)}))
            for seats, amount, more in ((taken, ask.host, 1), (left, NOTHING - ask.host, -1)):
                for seat in seats[card.uuid]:
                    teams = teams.bind(ask.key, seat.shape, more)
                    if card.node in hosts:
                        hosts[card.node] = hosts[card.node].without(amount)
        return replace(self, cards=tuple(cards), hosts=hosts, teams=teams)


def adjust(stocks: tuple[Stock, ...], ask: Ask, prices: Floats, stand: Stand) -> Adjustment | None:
    """Return what one workload should take and give back, all others left where they are.

    The cheapest configurations at the stored prices are tried out on the cards: the one whose pieces and
    newly opened cards cost least is taken, the present one if it is a fiftieth of a card from that, of equals
    the one that starts fewest replicas. Every seat is legal beside those in use, and what is left stays in
    use until the new replicas run: so long nodes have the CPU, the memory and the places for both, and queues
    let both through. `None` where that holds for none of the configurations, and for a workload with replicas
    over several cards, which a plan seats. `prices` are what pieces cost this workload as of the last full
    packing of the same stocks (`prices_to`).
    """
    cards = stand.cards
    if any(seat.shape.cards > 1 for card in cards for seat, key in card.held.items() if key == ask.key):
        return None
    tableau = tableau_of(Problem(stocks, (ask,)))
    free = Prices(prices, np.zeros(tableau.limits.size))
    tried = [cheapest(tableau, each) for each in (free, *beside(free, TRIES))]
    candidates = distinct(joined(present(tableau, free), *tried))
    worth = value(candidates, free)
    pieces = [(index, piece) for index, stock in enumerate(stocks) for piece in stock.pieces]
    rooms = {
        index: StockRoom(stock, [card for card in cards if card.stock == index], stand.mix_of(index))
        for index, stock in enumerate(stocks)
    }
    nodes = Nodes(stand.hosts, (ask,), cards)
    mine = _mine(ask, cards)
    best: tuple[float, int, int] | None = None
    chosen: Adjustment | None = None
    for row in np.lexsort((candidates.counts.sum(axis=1), worth)).tolist()[:TRIED]:
        for held in mine:
            trial = _Trial(stocks, pieces, candidates.counts[row].tolist(), held)
            found = trial.on(rooms, nodes.fork(), stand.teams, float(worth[row]))
            if found is None:
                continue
            stays = not (found.takes or found.leaves)
            score = (found.price + trial.cost + (0.0 if stays else STAYS), len(found.takes), row)
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
        self._wanted = dict(zip(pieces, counts, strict=True))
        self.cost = 0.0

    def on(
        self, rooms: Mapping[int, StockRoom], nodes: Nodes, teams: Teams, price: float
    ) -> Adjustment | None:
        """Return what is taken and left, `None` where there is no room; sets what the cards cost."""
        forks: dict[int, StockRoom] = {}
        takes, opened = [], 0
        leaves = [*self._held.given_back]
        for at, mine in self._held.seats.items():
            leaves += mine[self._wanted.get(at, 0) :]  # none is wanted of what is on offer to nobody
        for (index, piece), n in self._wanted.items():
            more = max(0, n - len(self._held.seats.get((index, piece), ())))
            if teams.most(self._held.key, piece, more) < more:
                return None
            teams = teams.bind(self._held.key, piece, more)
            for _ in range(more):
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
        return Adjustment(tuple(takes), tuple(leaves), opened - len(closed), price)
