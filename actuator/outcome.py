"""What became of a step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fleet.change import Step
from fleet.workload import WorkloadKey


class Outcome(StrEnum):
    """What became of a step."""

    DONE = "done"
    UNCONFIRMED = "written, not yet read back"
    UNDER_WAY = "written, its pods follow"
    PROPOSED = "would be written"
    HELD = "held"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StepResult:
    """What became of one step in one run, and why.

    Attributes:
        target: Whose step.
        step: The step.
        outcome: What became of it.
        reason: One line: why it was decided if it was done, else why it was not.
    """

    target: WorkloadKey
    step: Step
    outcome: Outcome
    reason: str

    @property
    def is_write(self) -> bool:
        """Whether something was, or may have been, written."""
        return self.outcome in {Outcome.DONE, Outcome.UNCONFIRMED, Outcome.UNDER_WAY}
