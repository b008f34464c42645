"""Changes of the cluster as values: what will be done to one workload, step by step, and why."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum

from fleet.shape import Shape
from fleet.workload import WorkloadKey


class Lane(StrEnum):
    """Which of the two lanes a step runs in: additions wait for nothing but their own limits."""

    ADD = "add"
    MOVE = "move"


class Verb(StrEnum):
    """What a step does through the cluster port."""

    CREATE_VARIANT = "create-variant"
    SCALE_UP = "scale-up"
    SCALE_DOWN = "scale-down"


@dataclass(frozen=True, slots=True)
class Step:
    """One write. Absolute, never an increment: running it twice changes nothing.

    Attributes:
        verb: What is done.
        variant: Deployment that is written.
        shape: Shape of its replicas.
        replicas: `spec.replicas` after the step.
        expects: Version of the Deployment that the step was computed from, `None` where it is created.
        reason: Why, one line.
    """

    verb: Verb
    variant: str
    shape: Shape
    replicas: int
    expects: str | None
    reason: str

    @property
    def lane(self) -> Lane:
        """Lane that the step runs in."""
        return Lane.MOVE if self.verb is Verb.SCALE_DOWN else Lane.ADD

    @property
    def is_irreversible(self) -> bool:
        """Whether serving capacity is given up, so that guards are checked again right before it."""
        return self.verb is Verb.SCALE_DOWN


class StepState(StrEnum):
    """How far a step is."""

    PENDING = "Pending"
    CLAIMED = "Claimed"
    DONE = "Done"
    FAILED = "Failed"
    SUPERSEDED = "Superseded"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One workload's change. Its name says what it is: same target, base and steps, same name."""

    target: WorkloadKey
    steps: tuple[Step, ...]
    decided_at_s: float

    @property
    def name(self) -> str:
        """Name of the FractionPlan: the target and a hash over steps and the versions they build on."""
        body = json.dumps([asdict(step) for step in self.steps], sort_keys=True, default=str)
        digest = hashlib.sha256(f"{self.target}|{body}".encode()).hexdigest()[:12]
        return f"{self.target.name}-{digest}"
