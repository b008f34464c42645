"""Objects by what they are looked up by, indexed once for all workloads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from actuator.manifest import STANDBY_LABEL, Json, by_namespace, key_of, labels_of
from actuator.objects.pods import is_over
from actuator.objects.selection import Labelled
from actuator.objects.slices import Inventory
from fleet.boards import Board
from fleet.workload import WorkloadKey


def boards(inventory: Inventory) -> list[Board]:
    """Return the kinds of cards, by id."""
    return sorted({gpu.board for gpu in inventory.gpus}, key=lambda board: board.id)


def living(pods: Iterable[Json]) -> Labelled:
    """Return pods that have not ended, by their labels; those of the standby pool serve no one workload."""
    return Labelled(pod for pod in pods if not is_over(pod) and STANDBY_LABEL not in labels_of(pod))


def by_name(templates: Iterable[Json]) -> dict[str, dict[str, Json]]:
    """Return objects by namespace and name."""
    return {
        namespace: {str(body["metadata"]["name"]): body for body in bodies}
        for namespace, bodies in by_namespace(templates).items()
    }


def by_key(claims: Iterable[Json]) -> dict[WorkloadKey, Json]:
    """Return objects by namespace and name together."""
    return {key_of(body): body for body in claims}


def by_owner(bodies: Iterable[Json]) -> dict[str, list[Json]]:
    """Return objects by the uid of each who owns them."""
    found: defaultdict[str, list[Json]] = defaultdict(list)
    for body in bodies:
        for owner in body["metadata"].get("ownerReferences") or []:
            found[owner["uid"]].append(body)
    return found
