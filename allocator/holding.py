"""Which devices to keep for workloads until their next replicas can take them.

Two kinds of room go to whoever asks first, if nobody keeps it: what replicas of ours are giving back while
another workload of ours is short, and what the rest of a move needs while its first replica is on trial.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import count, islice

from allocator.room import request_of, unplaced
from fleet.cluster import Fleet, Standing
from fleet.devices import Device, DeviceId, Pool, ledger_of
from fleet.holds import Hold
from fleet.host import NOTHING, UNKNOWN, HostAmount, Pods
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey

MOST_SEATS = 16
"""Replicas for which room is held at the same time: what is held serves nobody."""


@dataclass(frozen=True, slots=True)
class Wish:
    """Replicas that a workload is to have as soon as it can.

    Attributes:
        standing: The workload.
        later: What it is to have beyond what is asked for.
        until_s: How long room may be held for it, seconds since the epoch.
        is_short: Whether it waits for room that others give back; else for its trial, and free room is held.
    """

    standing: Standing
    later: Configuration
    until_s: float
    is_short: bool


def rooms_to_hold(fleet: Fleet, wishes: Iterable[Wish], until_s: float, at_s: float) -> tuple[Hold, ...]:
    """Return every hold that there should be now; one that is there already is returned as it is.

    A seat for a replica is held with all devices that cannot be allocated beside it, on a node that will have
    the CPU, the memory and the place for its pod; of one that is spread, where fewest of it stand. Where a
    workload waits for room, only seats are held that somebody of ours is leaving: one that is free it takes
    itself. What is asked for already and waits is seen to for the workloads of the wishes, and for no others.

    Args:
        fleet: The cluster as it stands, with its holds.
        wishes: Replicas to come, most urgent first; of none = only of those that wait.
        until_s: When new holds end for replicas that are asked for and wait.
        at_s: Time, seconds since the epoch.
    """
    wishes = tuple(wishes)
    wishing = {wish.standing.key for wish in wishes}
    waiting = (
        Wish(standing, Configuration({shape: replicas}), until_s, is_short=True)
        for standing, _, shape, replicas in unplaced(fleet.standings)
        if replicas and standing.key in wishing
    )
    seating = _Seating(fleet, at_s)
    # Who waits takes free room as it comes, and must not take what is held for a trial in its place.
    ordered = sorted((*waiting, *wishes), key=lambda wish: wish.is_short)
    seats = (hold for wish in ordered for hold in seating.seats(wish))
    return tuple({hold.device: hold for seat in islice(seats, MOST_SEATS) for hold in seat}.values())


class _Seat(IntEnum):
    """How a seat stands, best first: held for the workload, free, or left by somebody of ours."""

    HELD = 0
    FREE = 1
    LEFT = 2


class _Seating:
    """Gives out seats one after the other, in the order in which they are asked for."""

    def __init__(self, fleet: Fleet, at_s: float) -> None:
        self._hosts = dict(fleet.hosts)
        self._domain_of = fleet.domain_of
        self._stand: defaultdict[WorkloadKey, Counter[str]] = defaultdict(Counter)
        leaving: set[DeviceId] = set()
        for standing, variant, replica, device in fleet.placed():
            if replica.is_leaving:
                leaving.add(device.id)
                self._take(device.node, NOTHING - variant.host)
            else:
                self._stand[standing.key][fleet.domain_of(device.node)] += 1
        self._pools = fleet.pools
        self._products = {board.id: board.product_names for board in fleet.boards()}
        self._now = ledger_of(fleet.pools, fleet.allocated)
        self._left = ledger_of(fleet.pools, (one for one in fleet.allocated if one.id not in leaving))
        self._held: dict[DeviceId, Hold] = {hold.device: hold for hold in fleet.holds if hold.until_s > at_s}
        self._barred = fleet.barred
        self._at_s = at_s

    def seats(self, wish: Wish) -> Iterator[tuple[Hold, ...]]:
        """Yield the holds of a seat for each replica of a wish that can have one."""
        for shape, replicas in wish.later.counts.items():
            is_offered = shape.board in self._products and shape not in self._barred
            pods = wish.standing.pods(shape)
            # What is held is a device: a share of one is not kept without keeping all of it.
            is_device = shape.cards == 1 and not shape.hundredths
            if not is_device or not is_offered or not pods.may_take_held:
                continue
            for _ in range(replicas):
                purpose = f"a replica on {shape.name}"
                seats = self._candidates((wish.standing.key, purpose), shape, pods)
                usable = (one for one in seats if wish.is_short or one[0] is not _Seat.LEFT)
                seat = min(usable, default=None, key=lambda one: one[:3])
                if seat is None:
                    break
                state, _, _, pool, device = seat
                self._left, self._now = self._left.take(device), self._now.take(device)
                self._take(pool.node, pods.host)
                self._stand[wish.standing.key][self._domain_of(pool.node)] += 1
                if state is _Seat.FREE and wish.is_short:
                    continue
                holds = tuple(self._holds(wish, purpose, pool, device))
                self._held |= {hold.device: hold for hold in holds}
                if holds:
                    yield holds

    def _candidates(
        self, use: tuple[WorkloadKey, str], shape: Shape, pods: Pods
    ) -> Iterator[tuple[_Seat, int, int, Pool, Device]]:
        """Yield the devices that a replica could have once those that leave are gone, with their order.

        What is held for another use, be it of the same owner, is none of them.
        """
        request = request_of(shape, self._products[shape.board])
        order = count()
        stand = self._stand[use[0]]
        for pool in self._pools:
            if pool.node in pods.closed or self._hosts.get(pool.node, UNKNOWN).lacks_for(pods.host):
                continue
            kin = stand[self._domain_of(pool.node)] if pods.is_spread else 0
            for device in pool.asked_for(request):
                if self._left.fits(device):
                    hold = self._held.get(device.id)
                    if hold is None:
                        state = _Seat.FREE if self._now.fits(device) else _Seat.LEFT
                        yield state, kin, next(order), pool, device
                    elif (hold.owner, hold.purpose) == use:
                        yield _Seat.HELD, kin, next(order), pool, device

    def _take(self, node: str, amount: HostAmount) -> None:
        if node in self._hosts:
            self._hosts[node] = self._hosts[node].without(amount)

    def _holds(self, wish: Wish, purpose: str, pool: Pool, seat: Device) -> Iterator[Hold]:
        for device in pool.instead_of(seat):
            held = self._held.get(device.id)
            if held is None and wish.until_s > self._at_s:
                yield Hold(device.id, wish.standing.key, purpose, wish.until_s)
            elif held is not None and (held.owner, held.purpose) == (wish.standing.key, purpose):
                yield held
