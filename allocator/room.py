"""Room on the cards, tried out by the scheduler's own rule before anything is asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fleet.cluster import Fleet, Replica
from fleet.devices import Device, DeviceRequest, Ledger, Pool, first_fit, ledger_of, spread
from fleet.shape import Configuration, Shape


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a fleet. Immutable: a trial that is not kept costs nothing to undo.

    Attributes:
        pools: Devices in the order in which the scheduler tries them.
        ledger: What is left of the counters.
        products: Product names by board id.
        barred: Shapes for which there is no room, whatever is free.
        held: Number of devices in use by card, cards in use only.
        full: By request, the pools that have no room for it. Room only shrinks, so what was full
            stays full and is not searched again.
    """

    pools: tuple[Pool, ...]
    ledger: Ledger
    products: Mapping[str, tuple[str, ...]] = field(hash=False)
    barred: frozenset[Shape] = frozenset()
    held: Mapping[str, int] = field(default_factory=dict, hash=False)
    full: Mapping[DeviceRequest, frozenset[str]] = field(default_factory=dict, hash=False)

    def fill(self, shape: Shape, wanted: int) -> tuple[int, Room]:
        """Return how many of `wanted` replicas the scheduler could place, and the room after them."""
        if not wanted or shape.board not in self.products or shape in self.barred:
            return 0, self
        request = self._request(shape)
        full, ledger = self.full.get(request, frozenset()), self.ledger
        cards: list[str] = []
        while len(cards) < wanted:
            pool = next((p for p in spread(self.pools, ledger) if p.name not in full), None)
            if pool is None:
                break
            device = first_fit((pool,), ledger, request)
            if device is None:
                full |= {pool.name}
            else:
                ledger = ledger.take(device)
                cards.append(device.gpu)
        held = {**self.held, **{card: self.held.get(card, 0) + cards.count(card) for card in cards}}
        return len(cards), replace(self, ledger=ledger, held=held, full={**self.full, request: full})

    def beside(self, start: Configuration, goal: Configuration) -> Room | None:
        """Return the room once what `goal` has beyond `start` stands too, `None` if it does not fit."""
        room = self
        for shape, replicas in goal.counts.items():
            new = max(0, replicas - start.counts.get(shape, 0))
            placed, room = room.fill(shape, new)
            if placed < new:
                return None
        return room

    def cards_without(self, devices: Iterable[Device]) -> int:
        """Return how many cards stay in use once these devices are given back."""
        given_back = Counter(device.gpu for device in devices)
        return len(self.held) - sum(self.held.get(card, 0) == n for card, n in given_back.items())

    def _request(self, shape: Shape) -> DeviceRequest:
        kind, profile = ("gpu", None) if shape.is_whole else ("mig", shape.profile)
        return DeviceRequest(kind, profile, self.products[shape.board])


def room_of(fleet: Fleet) -> Room:
    """Return the room left once everything that is already asked for has been placed.

    Replicas that wait for a device come first in the order in which they were created: what is
    left is really left. One that fits nowhere is passed over, as the scheduler does.
    """
    room = Room(
        pools=fleet.pools,
        ledger=ledger_of(fleet.pools, fleet.allocated),
        products={board.id: board.product_names for board in fleet.boards()},
        barred=frozenset(fleet.barred),
        held=Counter(device.gpu for device in fleet.allocated),
    )
    for shape, replicas in _unplaced(fleet):
        _, room = room.fill(shape, replicas)
    return room


def _unplaced(fleet: Fleet) -> Iterable[tuple[Shape, int]]:
    waiting: list[Replica] = []
    unborn: list[tuple[Shape, int]] = []
    for standing in fleet.standings:
        for variant in standing.variants:
            staying = [replica for replica in variant.replicas if not replica.is_leaving]
            waiting += [replica for replica in staying if replica.device is None]
            unborn.append((variant.shape, max(0, variant.wanted - len(staying))))
    waiting.sort(key=lambda replica: (replica.created_at_s, replica.pod))
    return [*((replica.shape, 1) for replica in waiting), *unborn]
