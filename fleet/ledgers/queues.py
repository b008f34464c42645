"""KAI's queues as limits: what one may still be bound under its quota, its limit and those above it.

kai-scheduler/KAI-Scheduler, pkg/scheduler/plugins/proportion/capacity_policy: doubles are summed in the
order in which pods were bound, and compared without a tolerance. Fair shares are not worked out here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from fleet.errors import InputError

UNLIMITED = -1.0

SLACK_GPUS = 0.01
"""What a plan leaves free of a queue that takes shares: their sums are off by less."""


@dataclass(frozen=True, slots=True)
class Queue:
    """One queue, in GPUs.

    Attributes:
        name: Name, unique in the cluster.
        parent: Queue above it, `None` at the top.
        quota: What it is guaranteed, -1 for no bound.
        limit: What it may hold at most, -1 for no bound; 0, as an unset limit means, is nothing.
        priority: Order in which queues are served beyond their quota, highest first.
        weight: Share of what is beyond the quotas.
        allocated: What its pods, and those of queues below it, hold.
        allocated_fixed: The part of it that cannot be preempted.
    """

    name: str
    parent: str | None = None
    quota: float = 0.0
    limit: float = 0.0
    priority: int = 100
    weight: float = 1.0
    allocated: float = 0.0
    allocated_fixed: float = 0.0


@dataclass(frozen=True, slots=True)
class Queues:
    """All queues by name. Immutable: a trial that is not kept costs nothing to undo."""

    by_name: Mapping[str, Queue]

    def path(self, name: str) -> Iterator[Queue]:
        """Yield a queue and those above it; `InputError` for one that is not there, or a ring."""
        seen: set[str] = set()
        at: str | None = name
        while at is not None:
            if at not in self.by_name or at in seen:
                problem = f"queue {at} is above itself" if at in seen else f"there is no queue {at}"
                raise InputError(
                    problem, where=f"queue {name}", fix="correct parentQueue, or the pod's label"
                )
            seen.add(at)
            yield self.by_name[at]
            at = self.by_name[at].parent

    def refusal(self, name: str, gpus: float, *, fixed: bool, slack: float = 0.0) -> str | None:
        """Return why a pod would not be bound, in one line; `None` if queues let it through.

        Args:
            name: Leaf queue of the pod.
            gpus: What it asks for (`fleet.ledgers.kai.asked_gpus`).
            fixed: It cannot be preempted, so that it must stay within quotas.
            slack: GPUs to leave free below every limit; a plan with shares leaves `SLACK_GPUS`.
        """
        path = tuple(self.path(name))
        for queue in path:
            if _is_over(queue.allocated + gpus, queue.limit, slack):
                held = f"{queue.allocated:g} of limit {queue.limit:g} allocated"
                return f"queue {queue.name}: {gpus:g} GPUs asked, {held}"
        for queue in path if fixed else ():
            if _is_over(queue.allocated_fixed + gpus, queue.quota, slack):
                held = f"{queue.allocated_fixed:g} of quota {queue.quota:g} held by what cannot be preempted"
                return f"queue {queue.name}: {gpus:g} GPUs asked, {held}"
        return None

    def bind(self, name: str, gpus: float, *, fixed: bool) -> Queues:
        """Return the queues once a pod that counts `gpus` (`fleet.ledgers.kai.bound_gpus`) is bound."""
        bound = {
            queue.name: replace(
                queue,
                allocated=queue.allocated + gpus,
                allocated_fixed=queue.allocated_fixed + gpus * fixed,
            )
            for queue in self.path(name)
        }
        return Queues({**self.by_name, **bound})

    def guaranteed_left(self, name: str) -> float:
        """Return the GPUs that a queue can still have and keep: its quota less what it holds."""
        queue = self.by_name[name]
        return math.inf if queue.quota == UNLIMITED else max(0.0, queue.quota - queue.allocated)

    def possible_left(self, name: str) -> float:
        """Return the GPUs that limits let it have; beyond the guaranteed they can be taken away again."""
        left = (q.limit - q.allocated for q in self.path(name) if q.limit != UNLIMITED)
        return max(0.0, min(left, default=math.inf))

    def reclaimable(self, name: str) -> float:
        """Return the GPUs beyond its quota, which others may take back."""
        queue = self.by_name[name]
        return 0.0 if queue.quota == UNLIMITED else max(0.0, queue.allocated - queue.quota)


def queues_of(queues: Iterable[Queue]) -> Queues:
    """Return queues by name."""
    return Queues({queue.name: queue for queue in queues})


def _is_over(gpus: float, bound: float, slack: float) -> bool:
    return bound != UNLIMITED and gpus + slack > bound
