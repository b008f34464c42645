"""What may be decided on for a workload, given how it is acted on."""

from __future__ import annotations

from dataclasses import replace

from allocator.offers import Offers
from fleet.cluster import Standing
from fleet.workload import Limits, Way, Workload


def within_reach(workload: Workload, standing: Standing | None, offers: Offers) -> tuple[Workload, Offers]:
    """Return the workload and its offers as far as its way to act reaches, given how it stands.

    A floor moves within the bounds of what scales it: no lower than its owner had it before foreslice came,
    no higher than the most that it sets. Replicas are of the workload's own shape, since pods of copies would
    be counted as the workload's own; where it is switched, that shape changes.
    """
    if standing is None or workload.way is not Way.FLOOR or len(standing.scalers) != 1:
        return workload, offers
    [scaler] = standing.scalers
    before = standing.before.replicas if standing.before is not None else scaler.floor
    most = min(workload.limits.max_replicas, scaler.most)
    least = min(max(workload.limits.min_replicas, before), most)
    bounded = replace(workload, limits=Limits(least, most))
    if standing.switches:
        return bounded, offers
    own = standing.own.shape
    held = {shape: offer for shape, offer in offers.by_shape.items() if shape == own}
    return bounded, replace(offers, by_shape=held)
