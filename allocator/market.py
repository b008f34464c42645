"""What the operator says of cards and teams: prices, and how much each queue may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleet.ledgers.queues import UNLIMITED, Queue
from fleet.workload import Tier, WorkloadKey


@dataclass(frozen=True, slots=True)
class Market:
    """Prices of cards, and queues with their limits.

    Attributes:
        prices: Cost of one card by board, in whatever unit they share; a board that is not named costs 1.
        queues: Queues by name.
        queue_of: Queue by workload, for those that count against one.
    """

    prices: Mapping[str, float] = field(default_factory=dict, hash=False)
    queues: Mapping[str, Queue] = field(default_factory=dict, hash=False)
    queue_of: Mapping[WorkloadKey, str] = field(default_factory=dict, hash=False)

    def limits(self) -> dict[str, float]:
        """Return the GPUs by what counts against them: limits by queue, and what each queue is guaranteed."""
        bounds = {name: queue.limit for name, queue in self.queues.items()}
        bounds |= {_guaranteed(name): queue.quota for name, queue in self.queues.items()}
        return {name: gpus for name, gpus in bounds.items() if gpus != UNLIMITED}

    def counted_in(self, workload: WorkloadKey, tier: Tier) -> tuple[str, ...]:
        """Return which of `limits` a workload counts against.

        What is beyond a queue's quota may be taken back by others, so the strict tier stays within it.
        """
        name = self.queue_of.get(workload)
        if name is None:
            return ()
        return (name, _guaranteed(name)) if tier is Tier.STRICT else (name,)

    def weight(self, workload: WorkloadKey) -> float:
        """Return how much dearer than in the lowest queue it is to leave work uncarried, 1 up to 2.

        Tiers, which differ by more, come first; of one tier the queue of lower priority is short first.
        """
        ranks = sorted({queue.priority for queue in self.queues.values()})
        name = self.queue_of.get(workload)
        return 1.0 if name is None else 1.0 + ranks.index(self.queues[name].priority) / len(ranks)


def _guaranteed(queue: str) -> str:
    return f"{queue}, guaranteed"
