"""The cluster as the service sees it: few verbs in foreslice's own language.

Patch types, field managers and raw objects exist only in adapters. Every write is absolute and
carries the version that it was computed from; a version that is no longer current raises
`fleet.errors.ConflictError` and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from fleet.change import ChangeSet, Step, StepState
from fleet.cluster import Fleet
from fleet.holds import Hold
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Readiness:
    """When what a step added was there, seconds since the epoch.

    Attributes:
        scheduled_at_s: When the last of its replicas was given a node.
        ready_at_s: When the last of them was ready.
        prepared_at_s: When the last had its devices and its sandbox, `None` where kubelets do not say.
        first_token_at_s: When each of them was first seen to have answered, `None` before.
    """

    scheduled_at_s: float
    ready_at_s: float
    prepared_at_s: float | None = None
    first_token_at_s: float | None = None


@dataclass(frozen=True, slots=True)
class StepRecord:
    """How far one step of a recorded plan is, and when that became so.

    Attributes:
        state: How far it is.
        at_s: Since when, seconds since the epoch.
        note: Why, where that has to be said.
        readiness: When what it added was there, `None` while it is not.
        trial: How far replicas of its shape have come in proving themselves, `None` where that is not known.
    """

    state: StepState
    at_s: float
    note: str = ""
    readiness: Readiness | None = None
    trial: Trial | None = None


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A FractionPlan as read back from the cluster."""

    change: ChangeSet
    steps: tuple[StepRecord, ...]
    version: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One object as it stands and as it would be written.

    Attributes:
        before: The object as JSON, `None` where there is none yet.
        after: What it would be.
        objection: What the cluster has against writing it, empty = nothing.
    """

    before: Mapping[str, Any] | None
    after: Mapping[str, Any]
    objection: str = ""


@dataclass(frozen=True, slots=True)
class Advice:
    """Where a workload should be, for others who act on it.

    Attributes:
        goal: What should be asked for.
        up: Work below which capacity is added, in full reference replicas.
        keep: Work that must stay carried, likewise.
        short: Part of the need that stays uncarried, likewise.
        reason: Why, one line.
        at_s: When that was decided, seconds since the epoch.
    """

    goal: Configuration
    up: float
    keep: float
    short: float
    reason: str
    at_s: float


class Cluster(Protocol):
    """What the actuator may ask of a cluster.

    Every verb may raise `UnavailableError` (no answer), and writes `ConflictError` (changed meanwhile)
    or `RefusedError` (the cluster says no, with its reason).
    """

    def version(self) -> str:
        """Return a token that changes whenever `view` would; cheap enough for every tick."""
        ...

    def age_s(self) -> float | None:
        """Return how long ago the cluster was last heard of, `None` before it was seen at all."""
        ...

    def is_leader(self) -> bool:
        """Return whether this process may write; where no other acts, it always may."""
        ...

    def view(self, workloads: Sequence[WorkloadKey]) -> Fleet:
        """Return one consistent snapshot of the fleet and of these workloads."""
        ...

    def rehearse(self, change: ChangeSet, steps: Sequence[Step]) -> tuple[Rewrite, ...]:
        """Return what carrying out these steps of a change would write, the plan first; nothing is written.

        What cannot be written says so in its `objection`; `RefusedError` where it cannot even be made up.
        """
        ...

    def create_variant(self, workload: WorkloadKey, name: str, shape: Shape) -> None:
        """Create a copy of the workload's Deployment at zero replicas of this shape; existing = no change."""
        ...

    def scale(self, workload: WorkloadKey, variant: str, replicas: int, *, expects: str | None) -> None:
        """Set the replicas of one Deployment; `expects` is the version it must still have (`None` = any)."""
        ...

    def switch(self, workload: WorkloadKey, shape: Shape, *, expects: str | None) -> None:
        """Point the workload's Deployment to a claim template of a shape; its pods follow one by one.

        A template is made where there is none of that content; to the shape that its owner asked for it goes
        by its owner's own. `expects` is the version that the Deployment must still have (`None` = any).
        """
        ...

    def switch_back(self, workload: WorkloadKey, template: str, *, expects: str | None) -> None:
        """Point the workload's Deployment to a claim template that is there; `expects` as of `switch`."""
        ...

    def sweep_templates(self, workload: WorkloadKey) -> None:
        """Delete claim templates that we made for a workload and that nothing of it names any more.

        Not one that its history names: an undo of a rollout must find it.
        """
        ...

    def set_floor(self, workload: WorkloadKey, replicas: int, *, expects: str | None) -> None:
        """Set the fewest replicas of what scales a workload; `expects` is the version it must still have."""
        ...

    def hold(self, hold: Hold) -> None:
        """Keep new claims of others off a device; `ConflictError` where it is held already."""
        ...

    def release(self, hold: Hold) -> None:
        """End a hold that was seen, and none that came after it; one that is gone = no change."""
        ...

    def publish(self, workload: WorkloadKey, advice: Advice) -> None:
        """Say where a workload should be, in place of what was said before."""
        ...

    def record(self, change: ChangeSet) -> PlanRecord:
        """Write a new plan and return what the cluster holds; of a target 20 and the first are kept."""
        ...

    def plans(self, workload: WorkloadKey) -> tuple[PlanRecord, ...]:
        """Return the kept plans of a workload, newest first."""
        ...

    def claim_step(self, plan: PlanRecord, index: int, at_s: float) -> PlanRecord:
        """Mark a step as claimed before its first write, on the plan's version."""
        ...

    def finish_step(
        self, plan: PlanRecord, index: int, state: StepState, at_s: float, note: str = ""
    ) -> PlanRecord:
        """Mark a step as done, failed or superseded, or as pending again where it was held."""
        ...

    def note_readiness(self, plan: PlanRecord, index: int, readiness: Readiness) -> PlanRecord:
        """Keep with a step that is done when what it added became ready."""
        ...

    def note_trial(self, plan: PlanRecord, index: int, trial: Trial) -> PlanRecord:
        """Keep with a step that is done how far its shape has come in proving itself."""
        ...
