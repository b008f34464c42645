"""Replicas of time-sliced cards: a count and nothing more.

NVIDIA/k8s-device-plugin, README "Shared access to GPUs": every card of a node is offered `replicas` times;
nothing is isolated, asking for two gives no more time, and a plug-in that counts fewer evicts nobody.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class SlicedNode:
    """A node whose cards are time-sliced.

    Attributes:
        gpus: Number of cards.
        replicas: How often each is offered.
        used: Replicas in use.
    """

    gpus: int
    replicas: int
    used: int = 0

    @property
    def offered(self) -> int:
        """Number of replicas on offer, which must show as allocatable before a change counts as done."""
        return self.gpus * self.replicas

    def fits(self, count: int = 1) -> bool:
        """Return whether `count` more tenants find a replica each."""
        return self.used + count <= self.offered

    def take(self, count: int = 1) -> SlicedNode:
        """Return the node after `count` more tenants; they may not fit, as after fewer are offered."""
        return replace(self, used=self.used + count)

    def to_drain(self, replicas: int) -> int:
        """Return how many tenants must leave before the cards may be offered `replicas` times."""
        return max(0, self.used - self.gpus * replicas)
