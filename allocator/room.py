"""Room on the cards, tried out by the scheduler's own rule before anything is asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fleet.cluster import Fleet, Replica
from fleet.devices import DeviceRequest, Ledger, Pool, first_fit, ledger_of
from fleet.shape import Shape


@dataclass(frozen=True, slots=True)
class Room:
    """What is left of a fleet. Immutable: a trial that is not kept costs nothing to undo.

    Attributes:
        pools: Devices in the order in which the scheduler tries them.
        ledger: What is left of the counters.
        cards: UUIDs of the cards in use.
        products: Product names by board id.
    """

    pools: tuple[Pool, ...]
    ledger: Ledger
    cards: frozenset[str]
    products: Mapping[str, tuple[str, ...]] = field(hash=False)

    def place(self, shape: Shape, replicas: int) -> Room | None:
        """Return the room after the scheduler placed so many replicas, `None` if one does not fit."""
        room = self
        for _ in range(replicas):
            device = first_fit(room.pools, room.ledger, self._request(shape))
            if device is None:
                return None
            room = replace(room, ledger=room.ledger.take(device), cards=room.cards | {device.gpu})
        return room

    def how_many(self, shape: Shape, wanted: int) -> int:
        """Return how many of `wanted` replicas the scheduler could place."""
        room: Room | None = self
        for placed in range(wanted):
            room = room.place(shape, 1) if room else None
            if room is None:
                return placed
        return wanted

    def _request(self, shape: Shape) -> DeviceRequest:
        products = self.products.get(shape.board, ())
        return DeviceRequest(
            "gpu" if shape.is_whole else "mig", None if shape.is_whole else shape.profile, products
        )


def room_of(fleet: Fleet) -> Room:
    """Return the room left once everything that is already asked for has been placed.

    Replicas that wait for a device come first in the order in which they were created: what is
    left is really left. One that fits nowhere is passed over, as the scheduler does.
    """
    room = Room(
        pools=fleet.pools,
        ledger=ledger_of(fleet.pools, fleet.allocated),
        cards=frozenset(device.gpu for device in fleet.allocated),
        products={board.id: board.product_names for board in fleet.boards()},
    )
    for shape, replicas in _unplaced(fleet):
        for _ in range(replicas):
            room = room.place(shape, 1) or room
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
