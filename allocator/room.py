"""Room on the cards, tried out by the scheduler's own rule before anything is asked of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from allocator.full import Ask, Full
from allocator.market import NO_MARKET, NO_TEAMS, Market, Teams
from allocator.trial import Rank, Trial
from fleet.cluster import Fleet, Replica, Standing, Variant
from fleet.devices import (
    Device,
    DeviceRequest,
    Ledger,
    Pool,
    first_fit,
    ledger_of,
    rank_of_trial,
)
from fleet.holds import Hold, kept_from
from fleet.host import NOTHING, UNKNOWN, Host, Pods
from fleet.shape import Configuration, Shape
from fleet.workload import Workload, WorkloadKey

OF_NOBODY = Pods()
NO_KIN: Counter[str] = Counter()


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a fleet. Immutable: a trial that is not kept costs nothing to undo.

    Attributes:
        pools: Devices in the order in which the scheduler tries them.
        ledger: What is left of the counters.
        products: Product names by board id.
        barred: Shapes for which there is no room, whatever is free.
        held: Number of devices in use by card, cards in use only.
        full: What trials have found to be full so far, which is not searched again.
        copies: Replicas of copies by node; new ones prefer their company.
        hosts: Nodes, with what is left of them beside cards.
        stand: Replicas of each workload by fault domain; those that are spread go where fewest are.
        teams: What queues still let workloads have.
        holds: Devices that are kept for workloads.
    """

    pools: tuple[Pool, ...]
    ledger: Ledger
    products: Mapping[str, tuple[str, ...]] = field(hash=False)
    barred: frozenset[Shape] = frozenset()
    held: Mapping[str, int] = field(default_factory=dict, hash=False)
    full: Full = field(default_factory=Full, compare=False, repr=False)
    copies: Mapping[str, int] = field(default_factory=dict, hash=False)
    hosts: Mapping[str, Host] = field(default_factory=dict, hash=False)
    stand: Mapping[WorkloadKey, Counter[str]] = field(default_factory=dict, hash=False)
    teams: Teams = NO_TEAMS
    holds: tuple[Hold, ...] = ()

    def fill(self, shape: Shape, wanted: int, pods: Pods = OF_NOBODY) -> tuple[int, Room]:
        """Return how many of `wanted` replicas the scheduler could place, and the room after them.

        Apart over fault domains first, where they are to be spread; then those of copies gather on nodes
        where others are, any other go to the emptier node. Of a replica of several pods each goes where it
        has room, all or none.
        """
        if pods.members == 1:
            return self._fill(shape, wanted, pods)
        member = replace(shape, cards=shape.cards // pods.members)
        placed, after = self._fill(member, wanted * pods.members, pods)
        groups, over = divmod(placed, pods.members)
        return groups, self._fill(member, placed - over, pods)[1] if over else after

    def _fill(self, shape: Shape, wanted: int, pods: Pods) -> tuple[int, Room]:
        """Return how many of `wanted` pods could be placed, and the room after them."""
        wanted = self.teams.most(pods.workload, shape, wanted)
        if not wanted or shape.board not in self.products or shape in self.barred:
            return 0, self
        request = request_of(shape, self.products[shape.board])
        shut = kept_from(pods.workload if pods.may_take_held else None, self.holds)
        wish: Ask = (request, shut)
        full = set(self.full.of(wish) | self.full.of(pods.host))
        if len(full) == len(self.pools):
            return 0, self
        ledger, copies, kin, hosts = self.ledger, Counter(self.copies), self._kin(pods), dict(self.hosts)

        def rank(pool: Pool) -> Rank:
            apart = kin[hosts[pool.node].domain] if pods.is_spread and pool.node in hosts else 0
            return rank_of_trial(pool, ledger, copies[pool.node] if pods.gathers else 0, apart)

        open_to = (pool for pool in self.pools if pool.name not in full and pool.node not in pods.closed)
        trial = Trial(open_to, rank)
        found: defaultdict[Ask, list[Pool]] = defaultdict(list)
        cards: list[str] = []
        nodes: list[str] = []
        while len(nodes) < wanted and (pool := trial.first()) is not None:
            host = hosts.get(pool.node, UNKNOWN)
            lacks = host.lacks_for(pods.host)
            devices = () if lacks else first_fit((pool,), ledger, request, shut)
            if not devices:
                full.add(pool.name)
                found[pods.host if lacks else wish].append(pool)
                trial.drop()
                continue
            nodes.append(pool.node)
            kin[host.domain] += 1
            if host is not UNKNOWN:
                hosts[pool.node] = host.without(pods.host)
            for device in devices:
                ledger = ledger.take(device)
                cards.append(device.gpu)
            if pods.gathers:
                copies[pool.node] += 1
                beside = (each for each in self.pools if each.node == pool.node and each is not pool)
                trial.nearer(each for each in beside if each.name not in full)
        known = self.full.after(found, nodes)
        if not nodes:
            return 0, self
        return len(nodes), replace(
            self,
            ledger=ledger,
            held={**self.held, **{card: self.held.get(card, 0) + cards.count(card) for card in cards}},
            full=known,
            copies=copies,
            hosts=hosts,
            stand=self.stand if pods.workload is None else {**self.stand, pods.workload: kin},
            teams=self.teams.bind(pods.workload, shape, len(nodes)),
        )

    def is_held_for(self, workload: WorkloadKey, shape: Shape) -> bool:
        """Return whether a device of a shape is kept for a workload."""
        kept = {hold.device for hold in self.holds if hold.owner == workload}
        if not kept or shape.board not in self.products:
            return False
        request = request_of(shape, self.products[shape.board])
        return any(device.id in kept for pool in self.pools for device in pool.asked_for(request))

    def limit(self, shape: Shape, pods: Pods = OF_NOBODY) -> str:
        """Return what beside cards keeps one more replica out, one clause; empty = nothing does."""
        refusal = self.teams.refusal(pods.workload, shape)
        if refusal is not None:
            return refusal
        if pods.closed and self.fill(shape, 1, replace(pods, closed=frozenset()))[0]:
            return "nodes with a card free do not let its pods in (node selector, node affinity or taints)"
        if pods.host != NOTHING and self.fill(shape, 1, replace(pods, host=NOTHING))[0]:
            lacking = {host.lacks_for(pods.host) for host in self.hosts.values()} - {""}
            what = " or ".join(sorted(lacking))
            return f"nodes with a card free have too little {what}" if what else ""
        return ""

    def obstacle(self, standing: Standing, goal: Configuration) -> str:
        """Return why `goal` does not fit beside what stands, one line."""
        room, lacking = self._built(standing, goal)
        limit = room.limit(lacking, standing.pods(lacking)) if lacking is not None else ""
        why = f"no room to build {goal} beside {standing.wanted}"
        return f"{why}: {limit}" if limit else why

    def beside(self, standing: Standing, goal: Configuration) -> Room | None:
        """Return the room once what `goal` has beyond what stands does too, `None` if it does not fit."""
        room, lacking = self._built(standing, goal)
        return room if lacking is None else None

    def _built(self, standing: Standing, goal: Configuration) -> tuple[Room, Shape | None]:
        """Return the room after as much of `goal` as fits beside what stands, and the shape that does not."""
        room = self
        for shape, replicas in goal.counts.items():
            new = replicas - standing.told.counts.get(shape, 0)
            if new <= 0:
                continue
            placed, room = room.fill(shape, new, standing.pods(shape))
            if placed < new:
                return room, shape
        return room, None

    def cards_without(self, devices: Iterable[Device]) -> int:
        """Return how many cards stay in use once these devices are given back."""
        given_back = Counter(device.gpu for device in devices)
        return len(self.held) - sum(self.held.get(card, 0) == n for card, n in given_back.items())

    def domains_without(self, workload: WorkloadKey, devices: Iterable[Device] = ()) -> int:
        """Return over how many fault domains a workload stands once these devices are given back."""
        left = Counter(self.stand.get(workload, NO_KIN))
        left.subtract(self._domain(device.node) for device in devices)
        return sum(replicas > 0 for replicas in left.values())

    def _kin(self, pods: Pods) -> Counter[str]:
        return Counter(self.stand.get(pods.workload, NO_KIN)) if pods.workload is not None else Counter()

    def _domain(self, node: str) -> str:
        return self.hosts.get(node, UNKNOWN).domain


def request_of(shape: Shape, products: tuple[str, ...]) -> DeviceRequest:
    """Return what a replica of a shape asks for, on boards of these products."""
    if shape.is_whole:
        return DeviceRequest("gpu", None, products, count=shape.cards)
    return DeviceRequest("share" if shape.hundredths else "mig", shape.profile, products)


def is_offered(fleet: Fleet, shape: Shape) -> bool:
    """Return whether some node offers what a replica of a shape asks for, taken or free.

    Cards that are cut beforehand offer what they are cut into and nothing else; where nothing is cut yet and
    claims may cut it, all that can be cut is offered.
    """
    products = {board.id: board.product_names for board in fleet.boards()}
    if shape.board not in products or shape in fleet.barred:
        return False
    request = request_of(shape, products[shape.board])
    return any(
        sum(1 for _ in islice(pool.asked_for(request), request.count)) == request.count
        for pool in fleet.pools
    )


def room_of(fleet: Fleet, workloads: Iterable[Workload] = (), market: Market = NO_MARKET) -> Room:
    """Return the room left once everything that is already asked for has been placed.

    Replicas that wait for a device come first in the order in which they were created: what is
    left is really left. One that fits nowhere is passed over, as the scheduler does; it counts in its queue
    only once it has a device. `workloads` are those that `market` has queues for.
    """
    teams = market.beside(fleet.queued).teams(workloads)
    stand: defaultdict[WorkloadKey, Counter[str]] = defaultdict(Counter)
    for standing, _, replica, device in fleet.placed():
        teams = teams.bind(standing.key, replica.shape, 1)
        stand[standing.key][fleet.domain_of(device.node)] += not replica.is_leaving
    room = Room(
        pools=fleet.pools,
        ledger=ledger_of(fleet.pools, fleet.allocated),
        products={board.id: board.product_names for board in fleet.boards()},
        barred=frozenset(fleet.barred),
        held=Counter(device.gpu for device in fleet.allocated),
        copies=Counter(device.node for _, variant, _, device in fleet.placed() if variant.is_copy),
        hosts=fleet.hosts,
        stand=stand,
        teams=teams,
        holds=fleet.holds,
    )
    for standing, variant, shape, replicas in unplaced(fleet.standings):
        _, room = room.fill(shape, replicas, standing.pods(variant.shape))
    return room


class Rooms:
    """Keeps the room of the fleet that was asked about last, as long as that is what is asked about."""

    def __init__(self) -> None:
        # What it was reckoned of and what came of it, exchanged as one: a tick and a plan may ask at once.
        self._held: tuple[tuple[Fleet, tuple[Workload, ...], Market], Room] | None = None

    def of(self, fleet: Fleet, workloads: tuple[Workload, ...], market: Market) -> Room:
        """Return `room_of` these."""
        held, asked = self._held, (fleet, workloads, market)
        if held is None or held[0] != asked:
            held = self._held = asked, room_of(*asked)
        return held[1]


def unplaced(standings: Iterable[Standing]) -> list[tuple[Standing, Variant, Shape, int]]:
    """Return what is asked for and has no device yet, in the order in which the scheduler comes to it."""
    waiting: list[tuple[Standing, Variant, Replica]] = []
    unborn: list[tuple[Standing, Variant, Shape, int]] = []
    for standing in standings:
        for variant in standing.variants:
            staying = [replica for replica in variant.replicas if not replica.is_leaving]
            waiting += [(standing, variant, replica) for replica in staying if replica.device is None]
            unborn.append((standing, variant, variant.shape, max(0, variant.told - len(staying))))
    waiting.sort(key=lambda one: (one[2].created_at_s, one[2].pod))
    return [*((standing, variant, replica.shape, 1) for standing, variant, replica in waiting), *unborn]
