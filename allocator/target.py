"""Where the whole fleet should be: the cheapest packing of all needs, and how few cards any packing takes.

Decisions go there step by step, as far as the scheduler, dwell times and make-before-break let them; the
certificate says how far they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from allocator.decide import Question
from allocator.packing.cards import Card, Seat
from allocator.packing.pack import Packing, pack
from allocator.packing.placement import place
from allocator.packing.problem import Ask, Problem, Stock, is_whole
from allocator.packing.standing import standing_on
from allocator.packing.transition import Transition, transition
from fleet.cluster import Fleet, Gpu, Replica, Standing, Variant
from fleet.devices import Device
from fleet.host import NOTHING, HostAmount
from fleet.shape import WHOLE, Configuration, Shape
from fleet.workload import Tier, WorkloadKey

PENALTY = {Tier.STRICT: 10_000.0, Tier.BALANCED: 1_000.0, Tier.ECONOMY: 100.0}
"""Cards that one unit of work is worth where there are too few: far more than it takes, tiers in order."""

RECUT, RESTART = 0.05, 0.002
"""What cutting a card anew and starting a replica count, in cards."""

ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Target:
    """The cheapest packing that was found, with its certificate.

    Attributes:
        goals: What each workload should run on.
        short: Work that stays uncarried for want of cards, by workload.
        cards: Cards that the goals take.
        cost: What those cards cost, as many where all cost the same.
        least: What the cards of every packing cost at least.
        binding: What is scarce, dearest first.
        worth: Cards that one replica of each shape is worth in this fleet now.
        packing: What the goals were taken from, `None` where nothing was packed.
    """

    goals: Mapping[WorkloadKey, Configuration] = field(hash=False)
    short: Mapping[WorkloadKey, float] = field(hash=False)
    cards: int
    cost: float
    least: float
    binding: tuple[str, ...]
    worth: Mapping[Shape, float] = field(hash=False)
    packing: Packing | None = field(default=None, compare=False, repr=False)

    @property
    def gap(self) -> float:
        """Part by which the cards of the goals may cost more than the best packing's, 0 = proven best."""
        return self.cost / self.least - 1.0 if self.least else 0.0

    def price(self, configuration: Configuration) -> float:
        """Return the cards that a configuration is worth; a shape nobody could use counts as its cards."""
        return sum(n * self.worth.get(shape, float(shape.cards)) for shape, n in configuration.counts.items())


def target(question: Question) -> Target:
    """Return where the fleet should be for what must be kept, over all cards that no one else uses.

    Two packings: one with as many cards as it likes that knows nothing of what stands, for the certificate,
    and one on the cards there are that disturbs little, for the goals. Workloads that the cluster does not
    have, and those without any shape on offer, are left out.
    """
    problem = problem_of(question)
    if not problem.asks:
        return Target({}, {}, 0, 0.0, 0.0, (), {})
    stocks = tuple(replace(stock, cards=None, host=None) for stock in problem.stocks)
    ample = pack(replace(problem, stocks=stocks))
    cards = cards_of(question.fleet, problem.stocks)
    packing = pack(standing_on(problem, cards, recut=RECUT, restart=RESTART))
    goals = {ask.key: _configuration(packing, row) for row, ask in enumerate(problem.asks)}
    # Packing knows what is short in quarters of a workload only; what its goal leaves may be less.
    short = {ask.key: question.offers[ask.key].short(goals[ask.key], ask.work) for ask in problem.asks}
    return Target(
        goals=goals,
        short={key: work for key, work in short.items() if work},
        cards=packing.cards,
        cost=_cost(packing),
        least=_least(ample),
        binding=packing.binding,
        worth=_worth(ample),
        packing=packing,
    )


def way_to(aim: Target, question: Question) -> Transition:
    """Return the moves that take the fleet to a target, make before break, and what stands in the way.

    Where layouts and seats are ours to choose. `InputError` where a replica over several has no node.
    """
    if aim.packing is None:
        return Transition((), ())
    problem, hosts = aim.packing.tableau.problem, question.fleet.hosts
    before = cards_of(question.fleet, problem.stocks)
    return transition(before, place(aim.packing, before, hosts), problem.asks, hosts)


def problem_of(question: Question) -> Problem:
    """Return what is packed: what must be kept of the cluster's workloads, on cards that no one else uses.

    Groups of pods over several nodes are left where they are: of them no other shape can be made.
    """
    standings = {standing.key: standing for standing in question.fleet.standings}
    asks, market = [], question.market.beside(question.fleet.queued)
    sliced = _sliced(question.fleet)
    for workload in sorted(question.workloads, key=lambda workload: workload.key):
        offers = question.offers[workload.key]
        works = {s: offers.works[s] for s in offers.addable() if not s.hundredths or s in sliced}
        if workload.key in standings and works and standings[workload.key].own.members == 1:
            asks.append(
                Ask(
                    key=workload.key,
                    work=question.needs[workload.key, 0].keep,
                    works=works,
                    router=offers.router,
                    limits=workload.limits,
                    queues=market.counted_in(workload.key, workload.tier),
                    penalty=PENALTY[workload.tier] * market.weight(workload.key),
                    is_spread=workload.is_spread,
                    host=standings[workload.key].host,
                    closed=standings[workload.key].closed,
                )
            )
    shapes = {shape for ask in asks for shape in ask.works}
    apart = any(ask.is_spread for ask in asks)
    stocks = tuple(_stocks(question.fleet, shapes, market.prices, apart=apart))
    boards = {stock.board.id for stock in stocks}
    usable = (replace(a, works={s: w for s, w in a.works.items() if s.board in boards}) for a in asks)
    return Problem(stocks, tuple(ask for ask in usable if ask.works), market.limits())


def _sliced(fleet: Fleet) -> Mapping[Shape, bool]:
    """Return the shares that nodes offer, and whether every card gives them together with other sizes.

    A card is cut into any profile, and not into any shares. Time slices of a card are of one size; claims
    consume what they ask for. Where nodes offer a size either way, it is packed as all of them can give it.
    """
    board_of = {gpu.uuid: gpu.board.id for gpu in fleet.gpus}
    shares = (device for pool in fleet.pools for device in pool.devices if device.kind == "share")
    together: dict[Shape, bool] = {}
    for one in shares:
        shape = Shape(board_of[one.gpu], one.profile or WHOLE)
        together[shape] = together.get(shape, True) and bool(one.part_of)
    return together


def _stocks(fleet: Fleet, shapes: set[Shape], prices: Mapping[str, float], *, apart: bool) -> Iterator[Stock]:
    """Yield the cards of each kind that no one else uses, with the shapes that anyone could use.

    Fault domains are told apart only where some workload is: they make the packing larger.
    """
    foreign, ours, sliced = _foreign(fleet), _taken_of_hosts(fleet), _sliced(fleet)
    for board in fleet.boards():
        offered = [shape for shape in shapes if shape.board == board.id]
        profiles = tuple(p.name for p in board.profiles if Shape(board.id, p.name) in offered)
        spans = tuple(sorted({shape.cards for shape in offered if shape.cards > 1}))
        slices, shares = (
            tuple(sorted(s.hundredths for s in offered if s.hundredths and sliced[s] is together))
            for together in (False, True)
        )
        gpus = [gpu for gpu in fleet.gpus if gpu.board == board and offered]
        for domain in sorted({fleet.domain_of(gpu.node) for gpu in gpus} if apart else {""}):
            mine = [gpu for gpu in gpus if not apart or fleet.domain_of(gpu.node) == domain]
            if mine:
                yield Stock(
                    board,
                    domain,
                    price=prices.get(board.id, 1.0),
                    cards=sum(gpu.uuid not in foreign for gpu in mine),
                    spans=spans,
                    slices=slices,
                    shares=shares,
                    profiles=profiles,
                    host=_hosts(fleet, {gpu.node for gpu in mine}, ours),
                )


def _hosts(fleet: Fleet, nodes: set[str], ours: Mapping[str, HostAmount]) -> HostAmount | None:
    """Return what nodes have for our replicas, running ones included; `None` where one does not say."""
    total = NOTHING
    for node in nodes:
        host = fleet.hosts.get(node)
        if host is None or host.free is None:
            return None
        total += host.free + ours.get(node, NOTHING)
    return total


def _taken_of_hosts(fleet: Fleet) -> Mapping[str, HostAmount]:
    """Return what our running replicas take of each node."""
    taken: defaultdict[str, HostAmount] = defaultdict(HostAmount)
    for _, variant, _, device in _placed(fleet):
        taken[device.node] += variant.host
    return taken


def cards_of(fleet: Fleet, stocks: Sequence[Stock]) -> tuple[Card, ...]:
    """Return the cards of these stocks that no one else uses, with the replicas that the scheduler placed."""
    foreign, apart = _foreign(fleet), any(stock.domain for stock in stocks)
    index_of = {(stock.board, stock.domain): index for index, stock in enumerate(stocks)}
    mine: dict[str, tuple[Gpu, int]] = {}
    for gpu in fleet.gpus:
        index = index_of.get((gpu.board, fleet.domain_of(gpu.node) if apart else ""))
        if index is not None and gpu.uuid not in foreign:
            mine[gpu.uuid] = gpu, index
    seats: dict[str, dict[Seat, WorkloadKey | None]] = {uuid: {} for uuid in mine}
    for device, key in _ours(fleet):
        if device.gpu in mine:
            shape = Shape(mine[device.gpu][0].board.id, device.profile or WHOLE)
            taken = seats[device.gpu]
            start = len(taken) if shape.hundredths else min(device.memory_slices, default=0)
            taken[Seat(shape, 0 if shape.is_whole else start)] = key
    return tuple(Card(uuid, index, seats[uuid], gpu.node) for uuid, (gpu, index) in mine.items())


def _foreign(fleet: Fleet) -> set[str]:
    """Return the cards on which someone else has a device, or whose node lets no pods of ours in."""
    ours = {device.id: device.gpu for device, _ in _ours(fleet)}
    shut = {
        gpu.uuid
        for gpu in fleet.gpus
        if fleet.standings and all(gpu.node in standing.closed for standing in fleet.standings)
    }.difference(ours.values())
    return shut | {device.gpu for device in fleet.allocated if device.id not in ours}


def _ours(fleet: Fleet) -> Iterator[tuple[Device, WorkloadKey]]:
    return ((device, standing.key) for standing, _, _, device in _placed(fleet))


def _placed(fleet: Fleet) -> Iterator[tuple[Standing, Variant, Replica, Device]]:
    """Yield the replicas that are packed: groups over several nodes run on what they run on."""
    return (one for one in fleet.placed() if one[1].members == 1)


def _configuration(packing: Packing, row: int) -> Configuration:
    counts: Counter[Shape] = Counter()
    pieces = [piece for stock in packing.tableau.problem.stocks for piece in stock.pieces]
    for piece, n in zip(pieces, packing.packed.columns.counts[row].tolist(), strict=True):
        counts[piece] += n
    return Configuration(counts)


def _cost(packing: Packing) -> float:
    """Return what the cards of a packing cost."""
    price = np.array([stock.price for stock in packing.tableau.problem.stocks])
    cuts = packing.packed.cuts
    return float(packing.packed.cards @ (cuts.width * price[cuts.stock]))


def _least(packing: Packing) -> float:
    """Return what the cards of every packing cost; what the bound counts for uncarried work is taken off."""
    uncarried = float((packing.packed.columns.short * packing.tableau.penalty).sum())
    least = max(0.0, packing.bound.value - uncarried)
    return float(ceil(least - ROUNDING)) if is_whole(packing.tableau.problem) else least


def _worth(packing: Packing) -> Mapping[Shape, float]:
    pieces = [piece for stock in packing.tableau.problem.stocks for piece in stock.pieces]
    return dict(zip(pieces, packing.worth.piece.tolist(), strict=True))
