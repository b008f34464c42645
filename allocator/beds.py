"""Who sleeps where: standby engines on the slices of a pool, under the memory of hosts and devices.

Those most likely to need slices get the most beds, and those whose bursts do not meet sleep together.
Greedy, and re-planned only where the gain is real: every move costs a load.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import NDArray

from fleet.ledgers.beds import Bed

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Guest:
    """A workload that may sleep in the pool.

    Attributes:
        risk: Slices that it may need at once: of the forecast of its excess a high quantile.
        rank: Of its tier; 0 comes first where beds are few.
        bed: What its engine takes.
    """

    risk: float
    rank: int
    bed: Bed


@dataclass(frozen=True, slots=True)
class Room:
    """A slice of the pool.

    Attributes:
        node: Node whose memory keeps the weights of who sleeps there.
        memory_gib: Memory of its device.
    """

    node: str
    memory_gib: float


@dataclass(frozen=True, slots=True)
class House:
    """What bounds how many sleep.

    Attributes:
        rooms: Slices.
        sleepers: Engines on one slice at most.
        host_gib: Memory that each node has for sleeping weights.
    """

    rooms: Sequence[Room]
    sleepers: int
    host_gib: float


Layout = tuple[frozenset[int], ...]
"""By slice, who sleeps there."""

WORTH = 0.05
"""Part of the beds that must come out better before anybody is moved."""


def lay_out(guests: Sequence[Guest], house: House, meets: Floats, held: Layout | None = None) -> Layout:
    """Return who sleeps on each slice: what stands with its gaps filled, unless anew is much better.

    Args:
        guests: Workloads.
        house: What bounds them.
        meets: How much two workloads' excesses vary together, shape (guests, guests).
        held: Who sleeps there now, `None` = nobody.
    """
    anew = _filled(guests, house, meets, tuple(frozenset[int]() for _ in house.rooms))
    if held is None:
        return anew
    kept = _filled(guests, house, meets, _fitting(guests, house, held))
    better = _good(guests, anew) - _good(guests, kept)
    return anew if better > WORTH * max(_good(guests, kept), 1.0) else kept


def _filled(guests: Sequence[Guest], house: House, meets: Floats, start: Layout) -> Layout:
    """Give out beds one by one: first one for everybody by tier, then by how much of the risk has none."""
    beds = [set(each) for each in start]
    while True:
        has = [sum(one in room for room in beds) for one in range(len(guests))]
        order = sorted(range(len(guests)), key=lambda one: _turn(guests[one], has[one], one))
        placed = next((p for one in order if (p := _best(one, guests, house, meets, beds)) is not None), None)
        if placed is None:
            return tuple(map(frozenset, beds))
        one, at = placed
        beds[at].add(one)


def _turn(guest: Guest, beds: int, index: int) -> tuple[int, int, float, int]:
    """Return when a workload is given its next bed: what is lower comes first."""
    if not beds:
        return 0, guest.rank, -guest.risk, index
    return 1, 0, beds / guest.risk if guest.risk > 0 else inf, index


def _best(
    one: int, guests: Sequence[Guest], house: House, meets: Floats, beds: Sequence[set[int]]
) -> tuple[int, int] | None:
    """Return the slice where a workload meets least, `None` where it fits on none."""
    fits = [at for at in range(len(beds)) if _fits(one, at, guests, house, beds)]
    if not fits:
        return None
    at = min(fits, key=lambda each: (float(meets[one, list(beds[each])].sum()), len(beds[each]), each))
    return one, at


def _fits(one: int, at: int, guests: Sequence[Guest], house: House, beds: Sequence[set[int]]) -> bool:
    if one in beds[at] or len(beds[at]) >= house.sleepers:
        return False
    room = house.rooms[at]
    there = [guests[each].bed for each in (*beds[at], one)]
    contexts = sum(bed.context_gib for bed in there)
    if any(contexts - bed.context_gib + bed.awake_gib > room.memory_gib for bed in there):
        return False
    on_node = sum(
        guests[each].bed.host_gib
        for other, sleeping in zip(house.rooms, beds, strict=True)
        for each in sleeping
        if other.node == room.node
    )
    return on_node + guests[one].bed.host_gib <= house.host_gib


def _fitting(guests: Sequence[Guest], house: House, held: Layout) -> Layout:
    """Return what stands as far as it still fits: memory or bounds may have become less."""
    beds: list[set[int]] = [set() for _ in house.rooms]
    for at, sleeping in enumerate(held[: len(beds)]):
        for one in sorted(sleeping, key=lambda each: (guests[each].rank, -guests[each].risk, each)):
            if _fits(one, at, guests, house, beds):
                beds[at].add(one)
    return tuple(map(frozenset, beds))


def _good(guests: Sequence[Guest], layout: Layout) -> float:
    """Return how much of the risk has a bed."""
    has = [sum(one in room for room in layout) for one in range(len(guests))]
    return sum(min(count, guest.risk) for count, guest in zip(has, guests, strict=True))
