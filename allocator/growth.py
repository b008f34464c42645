"""Adding replicas at once: the lane that waits for nothing but its own limits."""

from __future__ import annotations

from dataclasses import dataclass

from allocator.need import Need
from allocator.offers import ROUNDING, Offers
from allocator.room import Room
from fleet.cluster import Standing
from fleet.shape import NOTHING, Configuration, Shape
from fleet.workload import Workload


@dataclass(frozen=True, slots=True)
class Growth:
    """What is added to one workload.

    Attributes:
        goal: What is asked for afterwards; equal to the start where nothing is added.
        room: Room that is left.
        short: Work of the need that stays uncarried.
        because: Why, one line a reason; empty where nothing is missing.
        later: What is to be added as soon as there is room for it, or a trial has ended.
    """

    goal: Configuration
    room: Room
    short: float
    because: tuple[str, ...]
    later: Configuration = NOTHING


@dataclass(frozen=True, slots=True)
class _Demand:
    """What one workload's additions are measured against."""

    workload: Workload
    standing: Standing
    need: Need
    offers: Offers

    def lack(self, goal: Configuration) -> tuple[float, int]:
        """Return the work and the replicas that are still missing."""
        return (
            self.offers.short(goal, self.need.up),
            max(0, self.workload.limits.min_replicas - goal.replicas),
        )

    def wanted(self, goal: Configuration, shape: Shape) -> int:
        """Return how many replicas of one shape would make up for it."""
        return max(self.offers.missing(goal, shape, self.need.up), self.lack(goal)[1])


def grow(workload: Workload, standing: Standing, need: Need, offers: Offers, room: Room) -> Growth:
    """Return the additions that bring a workload to need-up and floor, as far as limits and room allow.

    Proven shapes come before new ones: their replicas are up sooner, and one shape a workload is
    preferred. Where an unfinished plan is under way, its goal is what has to suffice.
    """
    demand = _Demand(workload, standing, need, offers)
    goal = standing.moving_to or standing.wanted
    room = room.beside(standing, goal) or room
    because: tuple[str, ...] = ()
    later = NOTHING
    while any(demand.lack(goal)):
        best = _best_addition(demand, goal, room)
        if best is None:
            because = because or ("no shape of this fleet can carry it",)
            break
        room, later = best.room, best.later
        if best.goal.counts == goal.counts:
            because = because or best.because
            break
        goal, because = best.goal, because + best.because
    return Growth(goal, room, offers.short(goal, need.up), because, later)


def _best_addition(demand: _Demand, goal: Configuration, room: Room) -> Growth | None:
    """Return the first addition of one shape that leaves nothing missing, else the one that leaves least."""
    best: Growth | None = None
    for shape in _in_order_of_trial(demand, goal, room):
        trial = _add(demand, goal, shape, room)
        if best is None or demand.lack(trial.goal) < demand.lack(best.goal):
            best = trial
        if not any(demand.lack(trial.goal)):
            break
    return best


def _in_order_of_trial(demand: _Demand, goal: Configuration, room: Room) -> list[Shape]:
    """Return shapes in use, cheapest addition first, then the others likewise; unproven ones come last.

    Of equals the one comes first that is ready sooner.
    """
    offers = demand.offers

    def price(shape: Shape) -> tuple[bool, bool, float, bool, bool, Shape]:
        cards = demand.wanted(goal, shape) * offers.by_shape[shape].gpu_share
        is_tried, is_cold = demand.standing.slows(shape)
        is_held = room.is_held_for(demand.workload.key, shape)
        return (is_tried, shape not in goal.counts, cards, not is_held, is_cold, shape)

    return sorted((shape for shape in offers.addable() if not lowers(goal, shape, offers)), key=price)


def lowers(goal: Configuration, shape: Shape, offers: Offers) -> bool:
    """Return whether one replica of `shape` would leave the configuration carrying less than before.

    Behind a router that deals out equal shares, the smallest replica sets what the others may take.
    """
    return offers.carried(goal.plus(shape, 1)) < offers.carried(goal) - ROUNDING


def _add(demand: _Demand, goal: Configuration, shape: Shape, room: Room) -> Growth:
    """Return the addition of one shape as far as limits and room allow; what still stands needs no room."""
    wanted = demand.wanted(goal, shape)
    allowed = max(0, min(wanted, demand.workload.limits.max_replicas - goal.replicas))
    leaving = demand.standing.told.counts.get(shape, 0) - goal.counts.get(shape, 0)
    kept = min(allowed, max(0, leaving))
    pods = demand.standing.pods(shape)
    placed, room = room.fill(shape, allowed - kept, pods)
    added = kept + placed
    larger = goal.plus(shape, added)
    reasons = [f"{added} x {shape.profile} added: {demand.need.because}" if added else demand.need.because]
    if not wanted:
        reasons.append("a replica that stands carries nothing, and equal shares hold the others to it")
    if allowed < wanted:
        reasons.append(f"the limit on replicas holds back {wanted - allowed} x {shape.profile}")
    if added < allowed:
        limit = room.limit(shape, pods)
        left = f"{allowed - added} x {shape.profile}"
        reasons.append(f"{limit}: {left} held back" if limit else f"no card has room for {left}")
    # What a queue holds back no room helps with.
    later = Configuration({shape: room.teams.most(pods.workload, shape, allowed - added)})
    return Growth(larger, room, demand.offers.short(larger, demand.need.up), tuple(reasons), later)
