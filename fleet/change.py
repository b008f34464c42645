"""Changes of the cluster as values: what will be done to one workload, step by step, and why."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import StrEnum

from fleet.shape import Configuration, Shape
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
    SWITCH = "switch"


@dataclass(frozen=True, slots=True)
class Step:
    """One write. Absolute, never an increment: running it twice changes nothing.

    Attributes:
        verb: What is done.
        variant: Deployment that is written.
        shape: Shape of its replicas.
        replicas: `spec.replicas` after the step; of a switch, as many have to serve before it.
        expects: Version of the Deployment that the step was computed from, `None` where it is created.
        reason: Why, one line.
        template: Claim template that the Deployment names before a switch, and goes back to if it fails.
    """

    verb: Verb
    variant: str
    shape: Shape
    replicas: int
    expects: str | None
    reason: str
    template: str = ""

    @property
    def lane(self) -> Lane:
        """Lane that the step runs in."""
        return Lane.MOVE if self.is_irreversible else Lane.ADD

    @property
    def is_irreversible(self) -> bool:
        """Whether serving capacity is given up, so that guards are checked again right before it."""
        return self.verb in {Verb.SCALE_DOWN, Verb.SWITCH}


class StepState(StrEnum):
    """How far a step is."""

    PENDING = "Pending"
    CLAIMED = "Claimed"
    DONE = "Done"
    FAILED = "Failed"
    SUPERSEDED = "Superseded"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """One workload's change. Its name says what it is: same target, start, goal and steps, same name.

    Attributes:
        target: Workload that is changed.
        start: What was asked for when it was decided.
        goal: What is asked for once every step is done.
        steps: Writes in order.
        decided_at_s: When, seconds since the epoch; not part of the name.
    """

    target: WorkloadKey
    start: Configuration
    goal: Configuration
    steps: tuple[Step, ...]
    decided_at_s: float

    @property
    def name(self) -> str:
        """Name of the FractionPlan: the target and a hash over start, goal and what the steps write.

        Versions are left out: a Deployment's version also grows with its status, and a plan that is
        half done must keep its name.
        """
        writes = [
            (step.verb, step.variant, str(step.shape), step.replicas, *filter(None, [step.template]))
            for step in self.steps
        ]
        body = json.dumps([str(self.target), str(self.start), str(self.goal), writes])
        return f"{self.target.name}-{hashlib.sha256(body.encode()).hexdigest()[:12]}"

    @property
    def is_reshape(self) -> bool:
        """Whether the workload ends on other shapes than it started on; one replica more is but a trial."""
        is_trial = self.goal.replicas == self.start.replicas + 1 and set(self.start) < set(self.goal)
        return set(self.start) != set(self.goal) and not is_trial
