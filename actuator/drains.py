"""How many workloads may be losing replicas on one node at the same time.

What is leaving is read from the cluster, so that a restart forgets nothing. Which replicas go the controller
chooses; the newest are taken to, as where room is reckoned with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from fleet.change import Step
from fleet.cluster import Fleet, Replica, Standing
from fleet.workload import WorkloadKey


class Drains:
    """Judges removals of one run by the nodes that they touch. What it lets pass it counts.

    Args:
        fleet: The workloads, with their replicas and where those are.
        most: Workloads that may be losing replicas on a node.
    """

    def __init__(self, fleet: Fleet, most: int) -> None:
        self._most = most
        self._losing: defaultdict[str, set[WorkloadKey]] = defaultdict(set)
        for standing in fleet.standings:
            replicas = (replica for variant in standing.variants for replica in variant.replicas)
            self._count(standing, (replica for replica in replicas if replica.is_leaving))

    def refusal(self, standing: Standing, step: Step) -> str | None:
        """Return why replicas may not go now, one line; `None` = they may."""
        for node in sorted(_nodes(_going(standing, step))):
            others = self._losing[node] - {standing.key}
            if len(others) >= self._most:
                return f"{len(others)} workloads are losing replicas on node {node}, at most {self._most} may"
        return None

    def take(self, standing: Standing, step: Step) -> None:
        """Count a removal that goes ahead."""
        self._count(standing, _going(standing, step))

    def _count(self, standing: Standing, replicas: Iterable[Replica]) -> None:
        for node in _nodes(replicas):
            self._losing[node].add(standing.key)


def _going(standing: Standing, step: Step) -> list[Replica]:
    variant = standing.named(step.variant)
    staying = [r for r in variant.replicas if not r.is_leaving] if variant is not None else []
    newest_first = sorted(staying, key=lambda replica: (-replica.created_at_s, replica.pod))
    return newest_first[: max(0, len(staying) - step.replicas)]


def _nodes(replicas: Iterable[Replica]) -> set[str]:
    return {replica.device.node for replica in replicas if replica.device is not None}
