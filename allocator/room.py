"""Room on the cards, tried out by the scheduler's own rule before anything is asked of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fleet.cluster import Fleet, Replica, Standing, Variant
from fleet.devices import Device, DeviceRequest, Ledger, Pool, first_fit, in_order_of_trial, ledger_of
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
        copies: Replicas of copies by node; new ones prefer their company.
    """

    pools: tuple[Pool, ...]
    ledger: Ledger
    products: Mapping[str, tuple[str, ...]] = field(hash=False)
    barred: frozenset[Shape] = frozenset()
    held: Mapping[str, int] = field(default_factory=dict, hash=False)
    full: Mapping[DeviceRequest, frozenset[str]] = field(default_factory=dict, hash=False)
    copies: Mapping[str, int] = field(default_factory=dict, hash=False)

    def fill(self, shape: Shape, wanted: int, *, gathers: bool = False) -> tuple[int, Room]:
        """Return how many of `wanted` replicas the scheduler could place, and the room after them.

        Those of a copy gather on nodes where others are, any other go to the emptier node.
        """
        if not wanted or shape.board not in self.products or shape in self.barred:
            return 0, self
        request = self._request(shape)
        full, ledger = self.full.get(request, frozenset()), self.ledger
        copies = Counter(self.copies)
        cards: list[str] = []
        placed = 0
        while placed < wanted:
            order = in_order_of_trial(self.pools, ledger, copies if gathers else {})
            pool = next((p for p in order if p.name not in full), None)
            if pool is None:
                break
            devices = first_fit((pool,), ledger, request)
            if not devices:
                full |= {pool.name}
                continue
            placed += 1
            if gathers:
                copies[pool.node] += 1
            for device in devices:
                ledger = ledger.take(device)
                cards.append(device.gpu)
        held = {**self.held, **{card: self.held.get(card, 0) + cards.count(card) for card in cards}}
        full_now = {**self.full, request: full}
        return placed, replace(self, ledger=ledger, held=held, full=full_now, copies=copies)

    def beside(self, standing: Standing, goal: Configuration) -> Room | None:
        """Return the room once what `goal` has beyond what stands does too, `None` if it does not fit."""
        room = self
        for shape, replicas in goal.counts.items():
            new = max(0, replicas - standing.told.counts.get(shape, 0))
            placed, room = room.fill(shape, new, gathers=standing.gathers(shape))
            if placed < new:
                return None
        return room

    def cards_without(self, devices: Iterable[Device]) -> int:
        """Return how many cards stay in use once these devices are given back."""
        given_back = Counter(device.gpu for device in devices)
        return len(self.held) - sum(self.held.get(card, 0) == n for card, n in given_back.items())

    def _request(self, shape: Shape) -> DeviceRequest:
        kind, profile = ("gpu", None) if shape.is_whole else ("mig", shape.profile)
        return DeviceRequest(kind, profile, self.products[shape.board], count=shape.cards)


def room_of(fleet: Fleet) -> Room:
    """Return the room left once everything that is already asked for has been placed.

    Replicas that wait for a device come first in the order in which they were created: what is
    left is really left. One that fits nowhere is passed over, as the scheduler does.
    """
    variants = [variant for standing in fleet.standings for variant in standing.variants]
    room = Room(
        pools=fleet.pools,
        ledger=ledger_of(fleet.pools, fleet.allocated),
        products={board.id: board.product_names for board in fleet.boards()},
        barred=frozenset(fleet.barred),
        held=Counter(device.gpu for device in fleet.allocated),
        copies=Counter(
            replica.device.node
            for variant in variants
            for replica in variant.replicas
            if replica.device is not None and not variant.is_base
        ),
    )
    for variant, shape, replicas in _unplaced(variants):
        _, room = room.fill(shape, replicas, gathers=not variant.is_base)
    return room


def _unplaced(variants: Iterable[Variant]) -> Iterable[tuple[Variant, Shape, int]]:
    waiting: list[tuple[Variant, Replica]] = []
    unborn: list[tuple[Variant, Shape, int]] = []
    for variant in variants:
        staying = [replica for replica in variant.replicas if not replica.is_leaving]
        waiting += [(variant, replica) for replica in staying if replica.device is None]
        unborn.append((variant, variant.shape, max(0, variant.told - len(staying))))
    waiting.sort(key=lambda one: (one[1].created_at_s, one[1].pod))
    return [*((variant, replica.shape, 1) for variant, replica in waiting), *unborn]
