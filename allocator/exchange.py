"""Growing into another shape when more of the present one would cost far more."""

from __future__ import annotations

from allocator.growth import Growth, lowers
from allocator.need import Need
from allocator.offers import ROUNDING, Offers
from allocator.room import Room
from fleet.cluster import Standing
from fleet.shape import Configuration
from fleet.workload import Workload

WORTHWHILE_GPU = 0.5
"""So much cheaper must the other shape be: it helps only once the old one has left."""


def exchange(
    workload: Workload, standing: Standing, need: Need, offers: Offers, room: Room, growth: Growth
) -> Growth:
    """Return the growth into one other shape if that is much cheaper than `growth`, else `growth`.

    Small slices are worse than proportional: a workload that outgrows them would take a card for what a
    quarter of it does. The goal carries more than the start, so it gives up nothing on any evidence; shapes
    that would lower what the router can use on the way are left out, and those that are not proven. A plan
    under way is not turned round.
    """
    start = standing.wanted
    best = growth
    if standing.moving_to is not None or not offers.short(start, need.up):
        return growth
    for shape in sorted(offers.addable(), key=standing.slows):
        if shape in growth.goal.counts or lowers(start, shape, offers) or not standing.is_proven(shape):
            continue
        replicas = max(offers.replicas_for(shape, need.keep), workload.limits.min_replicas)
        goal = Configuration({shape: replicas})
        if replicas > workload.limits.max_replicas:
            continue
        if offers.price(goal) > offers.price(best.goal) - (WORTHWHILE_GPU if best is growth else ROUNDING):
            continue
        beside = room.beside(standing, goal)
        if beside is not None:
            saved = offers.price(growth.goal) - offers.price(goal)
            why = f"{start} to {goal}, {saved:.2f} GPU less than {growth.goal}: {need.because}"
            best = Growth(goal, beside, 0.0, (why,))
    return best
