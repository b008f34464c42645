"""Who is woken: slices of the pool for workloads in excess, by tier and fair shares if there are too few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allocator.offers import ROUNDING, Offers
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Ask:
    """What a workload asks of the pool.

    Attributes:
        workload: Which.
        slices: How many slices it lacks; 0 = none.
        rank: Of its tier; 0 comes first.
        lacks: Work that finds nothing ready, in slices.
    """

    workload: WorkloadKey
    slices: int
    rank: int
    lacks: float = 0.0


@dataclass(frozen=True, slots=True)
class Place:
    """A slice as it can be dealt.

    Attributes:
        name: Its name.
        sleepers: Whose engines sleep or serve on it and may be woken.
        awake: Who is awake or about to be, `None` = nobody.
    """

    name: str
    sleepers: frozenset[WorkloadKey]
    awake: WorkloadKey | None = None


def slices_asked(offers: Offers, ready: Configuration, shape: Shape, work: float, most: int) -> int:
    """Return the fewest slices with which the work is carried, else those with which most of it is.

    0 where no slice helps: behind a router that spreads equally a small one lowers what all others carry.

    Args:
        offers: What replicas carry, by the routing rule.
        ready: What serves without the pool.
        shape: Shape of the pool's slices.
        work: Work asked for.
        most: Slices at most.
    """
    found = [min(offers.carried(ready.plus(shape, count)), work) for count in range(most + 1)]
    best = max(found)
    return next(count for count, work in enumerate(found) if work >= best - ROUNDING)


def deal(asks: Sequence[Ask], places: Sequence[Place]) -> Mapping[str, WorkloadKey]:
    """Return who should be awake on each slice.

    Who is awake and still asks stays: nobody is put to sleep for another. What is left is given out by tier,
    then everybody's first slice before anybody's second, then by what is lacked. An ask is met if any
    re-dealing of what was not yet given for good can meet it (augmenting paths: the asks met form a matroid,
    so greedy is optimal; Edmonds and Fulkerson 1965).
    """
    left = {ask.workload: ask.slices for ask in asks}
    dealt: dict[str, WorkloadKey] = {}
    for place in places:
        if place.awake is not None and left.get(place.awake, 0) > 0:
            dealt[place.name] = place.awake
            left[place.awake] -= 1
    had = {ask.workload: ask.slices - left[ask.workload] for ask in asks}
    free = {place.name: place for place in places if place.awake is None}
    turns = sorted(
        (ask.rank, had[ask.workload] + nth, -ask.lacks, ask.workload)
        for ask in asks
        for nth in range(left[ask.workload])
    )
    seats: dict[str, WorkloadKey] = {}
    for *_, workload in turns:
        _seat(workload, free, seats, set())
    return dealt | seats


def short(asks: Sequence[Ask], dealt: Mapping[str, WorkloadKey]) -> Mapping[WorkloadKey, int]:
    """Return the slices that workloads asked for and did not get; those that got all are left out."""
    got = list(dealt.values())
    lacking = {ask.workload: ask.slices - got.count(ask.workload) for ask in asks}
    return {workload: count for workload, count in lacking.items() if count > 0}


def _seat(
    workload: WorkloadKey, free: Mapping[str, Place], seats: dict[str, WorkloadKey], tried: set[str]
) -> bool:
    """Seat one ask, moving others to slices where they sleep too; return whether that was possible."""
    open_to = [name for name, place in free.items() if workload in place.sleepers]
    for name in sorted(open_to, key=lambda each: each in seats):
        if name not in tried:
            tried.add(name)
            if name not in seats or _seat(seats[name], free, seats, tried):
                seats[name] = workload
                return True
    return False
