"""What the operator says of cards and teams: prices, and how much each queue may use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from fleet.ledgers.kai import Cards, Instances, bound_gpus
from fleet.ledgers.queues import SLACK_GPUS, UNLIMITED, Queue, Queues, queues_of
from fleet.shape import SHARE_UNITS, Shape
from fleet.workload import Tier, Workload, WorkloadKey


def charge(shape: Shape) -> float:
    """Return the GPUs that a bound replica counts with in its queue; shares are on the hundredth."""
    if shape.hundredths:
        return shape.hundredths / SHARE_UNITS
    asked = Cards(shape.cards) if shape.is_whole else Instances({f"nvidia.com/mig-{shape.profile}": 1})
    return bound_gpus(asked, 0)


@dataclass(frozen=True, slots=True)
class Teams:
    """What queues still let workloads have. Immutable: a trial that is not kept costs nothing to undo.

    Attributes:
        queues: Queues, with what their workloads hold.
        member: Queue by workload, and whether it stays within what that is guaranteed.
    """

    queues: Queues
    member: Mapping[WorkloadKey, tuple[str, bool]] = field(default_factory=dict, hash=False)

    def refusal(self, workload: WorkloadKey | None, shape: Shape) -> str | None:
        """Return why one more replica would not be bound, one clause; `None` if queues let it through."""
        if workload is None or workload not in self.member:
            return None
        name, is_fixed = self.member[workload]
        slack = SLACK_GPUS if shape.hundredths else 0.0
        return self.queues.refusal(name, charge(shape), fixed=is_fixed, slack=slack)

    def bind(self, workload: WorkloadKey | None, shape: Shape, replicas: int) -> Teams:
        """Return what is left once so many replicas are bound."""
        if workload is None or workload not in self.member or not replicas:
            return self
        name, is_fixed = self.member[workload]
        return replace(self, queues=self.queues.bind(name, charge(shape) * replicas, fixed=is_fixed))

    def most(self, workload: WorkloadKey | None, shape: Shape, wanted: int) -> int:
        """Return how many of `wanted` replicas queues would let through, one after the other."""
        if workload not in self.member:
            return wanted
        left, bound = self, 0
        while bound < wanted and left.refusal(workload, shape) is None:
            left, bound = left.bind(workload, shape, 1), bound + 1
        return bound


NO_TEAMS = Teams(Queues({}))


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

    def beside(self, others: Mapping[str, float]) -> Market:
        """Return the market with what others hold of each queue, in GPUs.

        Whether it can be preempted is not known: what the strict rely on must not rest on that.
        """
        held = {name: others.get(name, 0.0) for name in self.queues}
        queues = {
            name: replace(queue, allocated=held[name], allocated_fixed=held[name])
            for name, queue in self.queues.items()
        }
        return replace(self, queues=queues)

    def limits(self) -> dict[str, float]:
        """Return the GPUs that are left, by what counts against them: of each queue, and of its guarantee."""
        bounds = [(name, queue.limit, queue.allocated) for name, queue in self.queues.items()]
        bounds += [(_guaranteed(n), queue.quota, queue.allocated_fixed) for n, queue in self.queues.items()]
        return {name: max(0.0, gpus - held) for name, gpus, held in bounds if gpus != UNLIMITED}

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

    def teams(self, workloads: Iterable[Workload]) -> Teams:
        """Return what queues let these workloads have beside others while none of them holds anything."""
        strict = {workload.key for workload in workloads if workload.tier is Tier.STRICT}
        member = {key: (name, key in strict) for key, name in self.queue_of.items()}
        return Teams(queues_of(self.queues.values()), member)


NO_MARKET = Market()


def _guaranteed(queue: str) -> str:
    return f"{queue}, guaranteed"
