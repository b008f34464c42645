"""What became of steps that nobody finished: a crash or an outage leaves them claimed or pending.

The cluster decides, not the plan: a step is done if what it writes is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from actuator.objects.plans import OPEN
from actuator.ports import PlanRecord, StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.cluster import Standing, Variant
from fleet.shape import Shape
from fleet.trial import Trial


@dataclass(frozen=True, slots=True)
class Settlement:
    """How one open step of a plan ends."""

    index: int
    state: StepState
    note: str


def writes(step: Step) -> tuple[Verb, str, Shape, int]:
    """Return what a step does, whatever version it was computed from."""
    return step.verb, step.variant, step.shape, step.replicas


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
        case Verb.SWITCH:
            return _is_rolled_out(variant)


def is_on_its_way(standing: Standing, step: Step) -> bool:
    """Return whether a Deployment was pointed to what a switch is for, and its pods have yet to follow."""
    if step.verb is not Verb.SWITCH or is_there(standing, step):
        return False
    variant = standing.named(step.variant)
    return variant is not None and variant.shape == step.shape


def trial_of(kept: StepRecord) -> Trial:
    """Return the trial that a step tells of, as it counted when the step was claimed.

    The same change has the same plan another day: what an earlier attempt left there is over by then.
    """
    return (kept.trial or Trial()).as_of(kept.at_s)


def _is_rolled_out(variant: Variant) -> bool:
    """Return whether every pod is of the newest template and serves, on what its claim was to be given."""
    staying = [replica for replica in variant.replicas if not replica.is_leaving]
    is_whole = len(staying) >= variant.told and all(r.is_ready and not r.is_old for r in staying)
    return is_whole and not variant.rollout.is_running


def settlements(record: PlanRecord, change: ChangeSet, standing: Standing) -> Iterator[Settlement]:
    """Yield how open steps of a kept plan end, given what is wanted now; steps still wanted stay open."""
    wanted = {writes(step) for step in change.steps}
    for index, (step, kept) in enumerate(zip(record.change.steps, record.steps, strict=True)):
        if kept.state not in OPEN or writes(step) in wanted:
            continue
        if is_on_its_way(standing, step):
            continue
        if is_there(standing, step):
            yield Settlement(index, StepState.DONE, "found done")
        elif step.verb is Verb.SWITCH and trial_of(kept).is_over:
            yield Settlement(index, StepState.FAILED, trial_of(kept).because)
        else:
            yield Settlement(index, StepState.SUPERSEDED, f"the goal is {change.goal} now")
