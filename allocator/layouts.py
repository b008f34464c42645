"""What nodes should be cut into for what their workloads will need: named layouts, ahead of a peak.

A change of layout empties cards and takes minutes, so that one is made only where what stands would leave a
need short. The packing then says which cuts of cards carry the need with fewest changes, and they are dealt
to nodes so that few nodes change: as which card a pod has is not said, pods of a changed node have to go.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from allocator.decide import Question, additions
from allocator.packing.cards import Card, Seat
from allocator.packing.pack import pack
from allocator.packing.placement import cuts_wanted
from allocator.packing.problem import Ask, Cut, Problem, Stock
from allocator.packing.standing import standing_on
from allocator.target import problem_of
from fleet.boards import Board
from fleet.cluster import Standing
from fleet.mig import realise
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey

PRICE, RECUT, RESTART = 1.0, 20.0, 1.0
"""What a card in use, one that is cut anew and a replica that is started count: cards are there anyway."""

Instances = Mapping[str, int]
"""What one card is cut into, by profile."""

Cuts = tuple[Instances | None, ...]
"""What the cards of a node are cut into, by index, `None` = a card is whole, and stays so."""


@dataclass(frozen=True, slots=True)
class NodeCuts:
    """One node whose layout may be changed.

    Attributes:
        node: Its name.
        board: What its cards are.
        cuts: What its cards are cut into.
    """

    node: str
    board: Board
    cuts: Cuts = field(hash=False)

    @property
    def cut(self) -> Mapping[int, Instances]:
        """What its cards in MIG mode are cut into, by index."""
        return {index: cut for index, cut in enumerate(self.cuts) if cut is not None}


@dataclass(frozen=True, slots=True)
class Relayout:
    """One node that should be cut otherwise.

    Attributes:
        node: Its name.
        cuts: What its cards should be cut into, those that stay as they are included.
        frees: Profiles that cards are cut into which change: who holds one, may be on such a card.
        because: Why, one clause.
    """

    node: str
    cuts: Cuts = field(hash=False)
    frees: frozenset[str]
    because: str


def frees_of(before: Cuts, after: Cuts) -> frozenset[str]:
    """Return the profiles that those cards are cut into which change."""
    pairs = zip(before, after, strict=True)
    return frozenset(profile for old, new in pairs if old != new for profile in old or ())


def relayouts(question: Question, nodes: Sequence[NodeCuts]) -> tuple[Relayout, ...]:
    """Return the nodes that should be cut otherwise, in order: those with fewest replicas first.

    Args:
        question: The fleet, and what will be needed by the time that layouts can be made.
        nodes: Nodes whose layouts may be changed; all others are taken as they are.
    """
    # Replicas that move are made elsewhere before they go, and what may not be given up must hold meanwhile.
    kept = {key: replace(need, up=max(need.up, need.keep)) for key, need in question.needs.items()}
    short = {one.workload: one.short for one in additions(replace(question, needs=kept)) if one.short}
    if not short:
        return ()
    boards = sorted({node.board for node in nodes}, key=lambda board: board.id)
    whole = problem_of(question)
    asks = tuple(_asks(whole.asks, question, nodes))
    if not asks:
        return ()
    stocks = tuple(_stock(board, nodes, asks) for board in boards)
    cards = [card for node in nodes for card in _cards(node, boards.index(node.board), question)]
    problem = standing_on(Problem(stocks, asks, whole.queues), cards, recut=RECUT, restart=RESTART)
    # Cards that nobody is on count for what they are cut into as well: cutting them anew takes as long.
    packing = pack(replace(problem, stocks=stocks))
    because = ", ".join(f"{key} would be short of {work:.2f}" for key, work in sorted(short.items()))
    found = []
    for index, board in enumerate(boards):
        mine = [node for node in nodes if node.board == board]
        wanted = Counter(dict(cuts_wanted(packing, index)))
        busy = Counter(card.node for card in cards for _ in card.held)
        for node, cuts in _dealt(stocks[index], wanted, mine, busy):
            found.append(Relayout(node.node, cuts, frees_of(node.cuts, cuts), because))
    return tuple(found)


def _asks(asks: Iterable[Ask], question: Question, nodes: Sequence[NodeCuts]) -> Iterator[Ask]:
    """Yield what is asked of these nodes: what is not carried elsewhere, by instances."""
    names, boards = {node.node for node in nodes}, {node.board.id for node in nodes}
    standings = {standing.key: standing for standing in question.fleet.standings}
    for ask in asks:
        standing = standings[ask.key]
        works = {s: work for s, work in ask.works.items() if s.board in boards and not s.is_whole}
        # A shape's first use is a trial, which takes longer than a peak waits.
        works = {s: work for s, work in works.items() if standing.is_proven(s)} or works
        elsewhere = question.offers[ask.key].carried(_elsewhere(standing, names))
        if works:
            yield replace(ask, works=works, work=max(0.0, ask.work - elsewhere), is_spread=False)


def _elsewhere(standing: Standing, nodes: set[str]) -> Configuration:
    replicas = (replica for variant in standing.variants for replica in variant.replicas)
    return Configuration(
        Counter(r.shape for r in replicas if r.serves and r.device and r.device.node not in nodes)
    )


def _stock(board: Board, nodes: Iterable[NodeCuts], asks: Iterable[Ask]) -> Stock:
    """Return the cards of one kind, with what they are cut into now."""
    asked = {shape.profile for ask in asks for shape in ask.works if shape.board == board.id}
    cuts = [cut for node in nodes if node.board == board for cut in node.cut.values()]
    stock = Stock(
        board, price=PRICE, cards=len(cuts), profiles=tuple(p.name for p in board.profiles if p.name in asked)
    )
    now = Counter(_cut(stock, cut) for cut in cuts)
    return replace(stock, cut={cut: n for cut, n in now.items() if cut in stock.cuts})


def _cut(stock: Stock, instances: Instances) -> Cut:
    return tuple(0 if piece.is_whole else instances.get(piece.profile, 0) for piece in stock.pieces)


def _cards(node: NodeCuts, stock: int, question: Question) -> Iterator[Card]:
    """Yield the cards of a node, with who sits there: on which of them, nobody knows."""
    sitting: defaultdict[str, list[WorkloadKey]] = defaultdict(list)
    for standing in question.fleet.standings:
        for variant in standing.variants:
            for replica in variant.replicas:
                if replica.device is not None and replica.device.node == node.node:
                    sitting[replica.shape.profile].append(standing.key)
    for index, cut in sorted(node.cut.items()):
        seats: dict[Seat, WorkloadKey | None] = {}
        for placement in sorted(realise(node.board, cut) or (), key=lambda one: one.start):
            waiting = sitting[placement.profile]
            seat = Seat(Shape(node.board.id, placement.profile), placement.start)
            seats[seat] = waiting.pop() if waiting else None
        yield Card(f"{node.node}/{index}", stock, seats, node.node)


def _dealt(
    stock: Stock, wanted: Counter[Cut], nodes: Iterable[NodeCuts], busy: Mapping[str, int]
) -> Iterator[tuple[NodeCuts, Cuts]]:
    """Yield the nodes that change and what their cards become.

    Cards that are cut as wanted stay, on the busiest nodes first; what is still wanted goes to the others, on
    the least busy nodes first, one node after the other.
    """
    quiet = sorted(nodes, key=lambda node: (busy.get(node.node, 0), node.node))
    free: dict[str, list[int]] = {}
    for node in reversed(quiet):
        free[node.node] = []
        for index, instances in sorted(node.cut.items()):
            cut = _cut(stock, instances)
            if wanted[cut] > 0:
                wanted[cut] -= 1
            else:
                free[node.node].append(index)
    left = sorted(wanted.elements())
    for node in quiet:
        here = free[node.node][: len(left)]
        changed = {index: _instances(stock, left.pop()) for index in here}
        if changed:
            yield node, tuple(changed.get(index, cut) for index, cut in enumerate(node.cuts))


def _instances(stock: Stock, cut: Cut) -> Instances:
    return {piece.profile: n for piece, n in zip(stock.pieces, cut, strict=True) if n}
