"""What became of steps that nobody finished: a crash or an outage leaves them claimed or pending.

The cluster decides, not the plan: a step is done if what it writes is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from actuator.objects.plans import OPEN
from actuator.ports import PlanRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Standing


@dataclass(frozen=True, slots=True)
class Settlement:
    """How one open step of a plan ends."""

    index: int
    state: StepState
    note: str


def writes(step: Step) -> tuple[Verb, str, int]:
    """Return what a step does, whatever version it was computed from."""
    return step.verb, step.variant, step.replicas


def is_there(standing: Standing, step: Step) -> bool:
    """Return whether the cluster shows what a step is for; more than it adds or removes is that too."""
    variant = standing.named(step.variant)
    if variant is None or variant.shape != step.shape:
        return False
    match step.verb:
        case Verb.CREATE_VARIANT:
            return True
        case Verb.SCALE_UP:
            return variant.wanted >= step.replicas
        case Verb.SCALE_DOWN:
            return variant.wanted <= step.replicas


def settlements(record: PlanRecord, change: ChangeSet, standing: Standing) -> Iterator[Settlement]:
    """Yield how open steps of a kept plan end, given what is wanted now; steps still wanted stay open."""
    wanted = {writes(step) for step in change.steps}
    for index, (step, kept) in enumerate(zip(record.change.steps, record.steps, strict=True)):
        if kept.state not in OPEN or writes(step) in wanted:
            continue
        if is_there(standing, step):
            yield Settlement(index, StepState.DONE, "found done")
        else:
            yield Settlement(index, StepState.SUPERSEDED, f"the goal is {change.goal} now")
