"""What a configuration really carries, given how its router spreads requests."""

from __future__ import annotations

from collections.abc import Mapping

from fleet.shape import Configuration, Shape
from fleet.workload import Router


def carried(configuration: Configuration, capacities: Mapping[Shape, float], router: Router) -> float:
    """Return the work that a configuration carries inside the SLO; 0 without replicas.

    A router that gives every replica the same share is limited by the smallest one; one that minds
    load or weight fills each to its capacity. `capacities` gives work per replica of each shape; a replica
    of a shape that is not in it carries nothing.
    """
    if not configuration.replicas:
        return 0.0
    if router is Router.EQUAL:
        return configuration.replicas * min(capacities.get(shape, 0.0) for shape in configuration)
    return sum(count * capacities.get(shape, 0.0) for shape, count in configuration.counts.items())
