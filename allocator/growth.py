"""Adding replicas at once: the lane that waits for nothing but its own limits."""

from __future__ import annotations

from dataclasses import dataclass

from allocator.need import Need
from allocator.offers import ROUNDING, Offers
from allocator.room import Room
from fleet.cluster import Standing
from fleet.shape import Configuration, Shape
from fleet.workload import Workload


@dataclass(frozen=True, slots=True)
class Growth:
    """What is added to one workload.

    Attributes:
        goal: What is asked for afterwards; equal to the start where nothing is added.
        room: Room that is left.
        short: Work of the need that stays uncarried.
        because: Why, one line a reason.
    """

    goal: Configuration
    room: Room
    short: float
    because: tuple[str, ...]


def grow(workload: Workload, standing: Standing, need: Need, offers: Offers, room: Room) -> Growth:
    """Return the additions that bring a workload to its need-up, as far as limits and room allow.

    Proven shapes come before new ones: their replicas are up sooner, and one shape a workload is
    preferred. Where an unfinished plan is under way, its goal is what has to suffice.
    """
    start = standing.moving_to or standing.wanted
    missing_floor = workload.limits.min_replicas - start.replicas
    if missing_floor <= 0 and offers.carried(start) >= need.up - ROUNDING:
        return Growth(start, room, 0.0, ())
    best: Growth | None = None
    for shape in _in_order_of_trial(start, need, offers):
        wanted = max(offers.missing(start, shape, need.up), missing_floor)
        allowed = min(wanted, workload.limits.max_replicas - start.replicas)
        added = room.how_many(shape, max(0, allowed))
        goal = start.plus(shape, added)
        short = max(0.0, need.up - offers.carried(goal))
        if best is None or short < best.short - ROUNDING:
            best = Growth(
                goal, room.place(shape, added) or room, short, _why(shape, need, wanted, allowed, added)
            )
        if short <= ROUNDING:
            break
    if best is None:
        return Growth(start, room, need.up, ("no shape of this fleet can carry it",))
    return best


def _in_order_of_trial(start: Configuration, need: Need, offers: Offers) -> list[Shape]:
    """Return shapes in use, cheapest addition first, then the others likewise."""

    def price(shape: Shape) -> tuple[bool, float, Shape]:
        added = offers.missing(start, shape, need.up)
        return (shape not in start.counts, added * offers.by_shape[shape].gpu_share, shape)

    usable = [shape for shape in offers.by_shape if not _lowers(start, shape, offers)]
    return sorted(usable, key=price)


def _lowers(start: Configuration, shape: Shape, offers: Offers) -> bool:
    """Return whether one replica of `shape` would leave the configuration carrying less than before.

    Behind a router that deals out equal shares, the smallest replica sets what the others may take.
    """
    return offers.carried(start.plus(shape, 1)) < offers.carried(start) - ROUNDING


def _why(shape: Shape, need: Need, wanted: int, allowed: int, added: int) -> tuple[str, ...]:
    reasons = [f"{added} x {shape.profile} added: {need.because}"] if added else [need.because]
    if allowed < wanted:
        reasons.append(f"the limit on replicas holds back {wanted - allowed} x {shape.profile}")
    if added < allowed:
        reasons.append(f"no card has room for {allowed - added} x {shape.profile}")
    return tuple(reasons)
