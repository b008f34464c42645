"""Objects by what they are looked up by, kept up for all workloads from one view to the next."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from actuator.manifest import STANDBY_LABEL, Json, key_of, labels_of
from actuator.objects.changes import Changes
from actuator.objects.pods import is_over
from actuator.objects.selection import Labelled
from actuator.objects.slices import Inventory
from fleet.boards import Board
from fleet.workload import WorkloadKey


def boards(inventory: Inventory) -> list[Board]:
    """Return the kinds of cards, by id."""
    return sorted({gpu.board for gpu in inventory.gpus}, key=lambda board: board.id)


def is_living(pod: Json) -> bool:
    """Return whether a pod has not ended; those of the standby pool serve no one workload."""
    return not is_over(pod) and STANDBY_LABEL not in labels_of(pod)


class Indexed:
    """Objects of one cluster by what they are looked up by; a view costs what has changed since the last.

    Attributes:
        deployments: What makes pods, by namespace and name; of two of one name the last counts.
        claims: ResourceClaims by namespace and name.
        pods: Pods that live.
    """

    def __init__(self) -> None:
        self.deployments: dict[WorkloadKey, Json] = {}
        self.claims: dict[WorkloadKey, Json] = {}
        self.pods = Labelled(counts=is_living)
        self._owned: defaultdict[str, dict[int, Json]] = defaultdict(dict)
        self._templates: defaultdict[str, dict[str, Json]] = defaultdict(dict)
        self._makers, self._made, self._claimed = Changes(), Changes(), Changes()

    def follow(
        self,
        deployments: Sequence[Json],
        templates: Iterable[Json],
        pods: Iterable[Json],
        claims: Iterable[Json],
    ) -> None:
        """Take the objects as they are now; what is the same object as before is not looked at."""
        gone, came = self._makers.since(deployments)
        if gone or came:
            self.deployments = {key_of(body): body for body in deployments}
        for body in gone:
            for owner in _owners(body):
                del self._owned[owner][id(body)]
        for body in came:
            for owner in _owners(body):
                self._owned[owner][id(body)] = body
        gone, came = self._made.since(templates)
        for body in gone:
            del self._templates[key_of(body).namespace][key_of(body).name]
        for body in came:
            self._templates[key_of(body).namespace][key_of(body).name] = body
        gone, came = self._claimed.since(claims)
        for body in gone:
            del self.claims[key_of(body)]
        self.claims.update((key_of(body), body) for body in came)
        self.pods.follow(pods)

    def owned_by(self, body: Json) -> list[Json]:
        """Return what makes pods and is owned by an object, by namespace and name."""
        return sorted(self._owned.get(body["metadata"]["uid"], {}).values(), key=key_of)

    def templates_of(self, namespace: str) -> Mapping[str, Json]:
        """Return the claim templates of a namespace by name."""
        return self._templates.get(namespace, {})


def _owners(body: Json) -> set[str]:
    return {str(owner["uid"]) for owner in body["metadata"].get("ownerReferences") or ()}
