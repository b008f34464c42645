"""Which ResourceSlices make up a pool: all of its newest generation, or it is not there yet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from actuator.manifest import Json, version_of


def complete_pools(bodies: Iterable[Json]) -> list[list[Json]]:
    """Return the slices of each pool at its highest generation, by pool name, if all of them are there."""
    pools: defaultdict[str, list[Json]] = defaultdict(list)
    for body in bodies:
        pools[body["spec"]["pool"]["name"]].append(body)
    newest = [_newest(found) for _, found in sorted(pools.items())]
    return [found for found in newest if len(found) == found[0]["spec"]["pool"]["resourceSliceCount"]]


def stamp(body: Json) -> tuple[str, str]:
    """Return what a slice as it is now is told apart by: its name and version."""
    return str(body["metadata"]["name"]), version_of(body)


def _newest(bodies: Sequence[Json]) -> list[Json]:
    generation = max(body["spec"]["pool"]["generation"] for body in bodies)
    return [body for body in bodies if body["spec"]["pool"]["generation"] == generation]
