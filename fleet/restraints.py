"""What owners of workloads let happen to them: how many pods may go, and what is agreed to."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DisruptionBudget:
    """How many ready replicas of a workload a PodDisruptionBudget lets go at this moment.

    Attributes:
        name: Its name, in the workload's namespace.
        allowed: Ready pods that may go now, of all that it selects.
    """

    name: str
    allowed: int


@dataclass(frozen=True, slots=True)
class Approval:
    """What the owner of a workload in mode advise agrees to.

    Attributes:
        goal: The configuration that may be made, as its text.
        until_s: When that ends, seconds since the epoch; infinite = when it is taken back.
    """

    goal: str
    until_s: float
