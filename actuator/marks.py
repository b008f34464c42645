"""How far a step of a kept plan is, as verbs of the cluster port: each is one write of all its steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

from actuator.ports import PlanRecord, Readiness, StepRecord
from fleet.change import StepState
from fleet.trial import Trial


class Marks(ABC):
    """What every cluster that keeps plans marks in them, and `_keep`, which is its own."""

    def claim_step(self, plan: PlanRecord, index: int, at_s: float) -> PlanRecord:
        """Mark a step as claimed before its first write, on the plan's version."""
        return self._mark(plan, index, _moved(plan.steps[index], StepState.CLAIMED, at_s))

    def finish_step(
        self, plan: PlanRecord, index: int, state: StepState, at_s: float, note: str = ""
    ) -> PlanRecord:
        """Mark a step as done, failed or superseded, or as pending again where it was held."""
        return self._mark(plan, index, _moved(plan.steps[index], state, at_s, note))

    def note_readiness(self, plan: PlanRecord, index: int, readiness: Readiness) -> PlanRecord:
        """Keep with a step that is done when what it added became ready."""
        return self._mark(plan, index, replace(plan.steps[index], readiness=readiness))

    def note_trial(self, plan: PlanRecord, index: int, trial: Trial) -> PlanRecord:
        """Keep with a step that is done how far its shape has come in proving itself."""
        return self._mark(plan, index, replace(plan.steps[index], trial=trial))

    def _mark(self, plan: PlanRecord, index: int, step: StepRecord) -> PlanRecord:
        return self._keep(plan, (*plan.steps[:index], step, *plan.steps[index + 1 :]))

    @abstractmethod
    def _keep(self, plan: PlanRecord, steps: tuple[StepRecord, ...]) -> PlanRecord:
        """Write the steps of a plan on its version and return what is held then; else `ConflictError`."""


def _moved(step: StepRecord, state: StepState, at_s: float, note: str = "") -> StepRecord:
    """Return a step that has come to another state; what its shape has shown stays with it."""
    return StepRecord(state, at_s, note, trial=step.trial)
