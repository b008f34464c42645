"""The way from one placement to the next: make before break, and what stands in the way by name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from allocator.packing.cards import Card, Seat
from allocator.packing.nodes import Nodes
from allocator.packing.problem import Ask
from capacity.routing import carried
from fleet.host import Host
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey

ROUNDING = 1e-9

_Seating = tuple[WorkloadKey, str, Seat]
"""A replica, the card and the seat that it takes or leaves."""


class Act(StrEnum):
    """What one move does."""

    START = "start"
    STOP = "stop"
    CUT = "cut"


@dataclass(frozen=True, slots=True)
class Move:
    """One thing to do; whatever comes before it in the order is done by then.

    Attributes:
        act: What is done.
        card: UUID of the card.
        seat: Seat that is taken or left, `None` where the card is cut.
        workload: Whose replica, `None` where the card is cut.
        is_detour: The replica sits there only until its seat is free.
    """

    act: Act
    card: str
    seat: Seat | None = None
    workload: WorkloadKey | None = None
    is_detour: bool = False


@dataclass(frozen=True, slots=True)
class Transition:
    """Moves in order, and what cannot be done.

    Attributes:
        moves: In order; independent ones are as early as they can be.
        stuck: What is left undone and why, one line each; empty = the placement is reached.
    """

    moves: tuple[Move, ...]
    stuck: tuple[str, ...]


def transition(
    before: Sequence[Card],
    after: Sequence[Card],
    asks: Sequence[Ask],
    hosts: Mapping[str, Host] | None = None,
) -> Transition:
    """Return the order in which replicas start, stop and cards are cut to get from one placement to the next.

    A replica stops only once the rest carries its workload's work by the router's rule, or as much as before
    if that was less; a card is cut only once its seats that go are empty. Where workloads wait for each
    other's seats, one of them takes a detour over room that nobody needs; without such room it is said how
    much is missing. A replica starts only where its node has the CPU, the memory and the place for its pod:
    `hosts` by name, with what is left of them before, are not looked at where they are not given.
    """
    return _Yard(before, after, asks, hosts or {}).run()


class _Yard:
    """The fleet on the way."""

    def __init__(
        self, before: Sequence[Card], after: Sequence[Card], asks: Sequence[Ask], hosts: Mapping[str, Host]
    ) -> None:
        self._nodes = Nodes(hosts, asks, before)
        self._asks = {ask.key: ask for ask in asks}
        self._seats = {card.uuid: dict(card.seats) for card in before}
        self._goal = {card.uuid: dict(card.seats) for card in after}
        self._runs: dict[WorkloadKey, Counter[Shape]] = defaultdict(Counter)
        self._starts: list[_Seating] = []
        self._stops: list[_Seating] = []
        for uuid in sorted(self._seats):
            now, goal = self._seats[uuid], self._goal[uuid]
            for seat, tenant in now.items():
                if tenant is not None:
                    self._runs[tenant][seat.shape] += not seat.is_part
                    if goal.get(seat) != tenant:
                        self._stops.append((tenant, uuid, seat))
            self._starts += [
                (t, uuid, seat) for seat, t in goal.items() if t is not None and now.get(seat) != t
            ]
        self._cuts = [uuid for uuid in sorted(self._seats) if set(self._seats[uuid]) != set(self._goal[uuid])]
        self._least = {key: min(ask.work, self._carried(key)) for key, ask in self._asks.items()}
        # The cards of a replica over several start before it counts, and are left after it. Workload by
        # workload, so that what one starts with counts on its node before another takes cards there.
        self._starts.sort(key=lambda one: (one[0], not one[2].is_part) if one[2].shape.cards > 1 else ())
        self._stops.sort(key=lambda one: one[2].is_part)
        self._stock = {card.uuid: card.stock for card in before}
        self._node = {card.uuid: card.node for card in before}
        self._turned: set[_Seating] = set()
        self._moves: list[Move] = []

    def run(self) -> Transition:
        """Do what can be done until nothing can."""
        while self._starts or self._stops or self._cuts:
            done = len(self._moves)
            self._cut()
            self._start()
            self._stop()
            if len(self._moves) == done and not self._detour():
                break
        return Transition(tuple(self._moves), tuple(self._stuck()))

    def _cut(self) -> None:
        waiting = []
        for uuid in self._cuts:
            now, goal = self._seats[uuid], self._goal[uuid]
            if any(tenant is not None and seat not in goal for seat, tenant in now.items()):
                waiting.append(uuid)
            else:
                self._seats[uuid] = {seat: now.get(seat) for seat in goal}
                self._moves.append(Move(Act.CUT, uuid))
        self._cuts = waiting

    def _start(self) -> None:
        waiting: list[_Seating] = []
        for key, uuid, seat in self._starts:
            is_free = seat in self._seats[uuid] and self._seats[uuid][seat] is None
            if (
                is_free
                and not self._nodes.lacks(key, uuid)
                and not self._waits_for(waiting, key, uuid, seat)
                and self._may(key, seat, 1)
            ):
                self._take(key, uuid, seat)
                self._moves.append(Move(Act.START, uuid, seat, key))
            else:
                waiting.append((key, uuid, seat))
        self._starts = waiting

    def _stop(self) -> None:
        waiting: list[_Seating] = []
        for key, uuid, seat in self._stops:
            if not self._waits_for(waiting, key, uuid, seat) and self._may(key, seat, -1):
                self._runs[key][seat.shape] -= not seat.is_part
                self._seats[uuid][seat] = None
                self._nodes.stop(key, uuid, seat)
                self._moves.append(Move(Act.STOP, uuid, seat, key))
            else:
                waiting.append((key, uuid, seat))
        self._stops = waiting

    def _detour(self) -> bool:
        """Give one replica that waits a seat that nobody needs; its stay there ends as any other does."""
        for start in self._starts:
            key, uuid, seat = start
            spare = None
            if seat.shape.cards == 1 and start not in self._turned and self._may(key, seat, 1):
                spare = self._spare(key, self._stock[uuid], seat)
            if spare is not None:
                self._turned.add(start)
                self._take(key, *spare)
                self._moves.append(Move(Act.START, *spare, key, is_detour=True))
                self._stops.append((key, *spare))
                return True
        return False

    def _spare(self, key: WorkloadKey, stock: int, seat: Seat) -> tuple[str, Seat] | None:
        """Return a free seat of the same shape that stays and nobody takes, else one on an unused card."""
        unused = None
        for uuid, seats in self._seats.items():
            if self._stock[uuid] != stock or self._nodes.lacks(key, uuid):
                continue
            goal = self._goal[uuid]
            for one, tenant in seats.items():
                if tenant is None and one.shape == seat.shape and one in goal and goal[one] is None:
                    return uuid, one
            if unused is None and not seats and not goal:
                unused = uuid
        if unused is None:
            return None
        self._seats[unused] = {seat: None}
        self._moves.append(Move(Act.CUT, unused))
        self._cuts.append(unused)
        return unused, seat

    def _waits_for(self, waiting: list[_Seating], key: WorkloadKey, uuid: str, seat: Seat) -> bool:
        """Return whether another card of such a replica on the same node is not as far yet."""
        return seat.shape.cards > 1 and any(
            (key, self._node[uuid], seat.shape) == (other, self._node[at], one.shape)
            for other, at, one in waiting
            if one.is_part != seat.is_part
        )

    def _take(self, key: WorkloadKey, uuid: str, seat: Seat) -> None:
        self._runs[key][seat.shape] += not seat.is_part
        self._seats[uuid][seat] = key
        self._nodes.start(key, uuid, seat)

    def _may(self, key: WorkloadKey, seat: Seat, change: int) -> bool:
        """Return whether the workload is carried with so many replicas more or fewer."""
        if key not in self._asks or seat.is_part:
            return True
        return self._carried(key, {seat.shape: change}) >= self._least[key] - ROUNDING

    def _carried(self, key: WorkloadKey, change: Mapping[Shape, int] | None = None) -> float:
        ask, runs = self._asks[key], Counter(self._runs[key])
        runs.update(change or {})
        return carried(Configuration(runs), ask.works, ask.router)

    def _stuck(self) -> list[str]:
        """Return what is left undone, each workload once."""
        lines = {}
        for key, uuid, seat in self._starts:
            if not self._may(key, seat, 1):
                lines[key] = (
                    f"{key}: a smaller replica would set the pace; a least-loaded router would allow it"
                )
            elif self._nodes.lacks(key, uuid):
                lines[key] = f"{key}: {self._nodes.named(key, uuid)} for 1 x {seat.shape}"
            else:
                lines[key] = f"{key}: 1 x {seat.shape} of spare room is missing to move to card {uuid}"
        for key, uuid, seat in self._stops:
            lines.setdefault(key, f"{key}: 1 x {seat.shape} on card {uuid} is needed until others run")
        return [lines[key] for key in sorted(lines)]
