"""What becomes of a switch whose pods do not come to serve: back to the template that stood before.

Level-triggered: that it failed is kept with the plan's step before anything is written, so that whoever comes
next goes back too, whatever the pods look like by then.
"""

from __future__ import annotations

from collections.abc import Iterator

from actuator.outcome import Outcome, StepResult
from actuator.ports import Cluster, PlanRecord, StepRecord
from actuator.settle import is_on_its_way
from fleet.change import Step
from fleet.cluster import Standing
from fleet.trial import Trial


def turn_back(cluster: Cluster, record: PlanRecord, standing: Standing, at_s: float) -> Iterator[StepResult]:
    """Take failed switches of a kept plan back, and yield what became of each.

    The shape is not used again before the next day. The step is settled once the cluster shows that the
    Deployment is back.

    Args:
        cluster: What is written to.
        record: The plan as it is kept.
        standing: The workload.
        at_s: Time, seconds since the epoch.
    """
    for index, (step, kept) in enumerate(zip(record.change.steps, record.steps, strict=True)):
        if not is_on_its_way(standing, step):
            continue
        why = failure(standing, step, kept)
        if not why:
            continue
        if kept.trial is None or not kept.trial.is_abandoned:
            record = cluster.note_trial(record, index, Trial().abandoned(why, at_s))
        cluster.switch_back(standing.key, step.template, expects=standing.own.rollout.version)
        reason = f"{why}: back to claim template {step.template}"
        yield StepResult(standing.key, step, Outcome.FAILED, reason)


def failure(standing: Standing, step: Step, kept: StepRecord) -> str:
    """Return why a switch that is on its way has failed, one clause; empty = it has not."""
    trial, own = kept.trial, standing.own
    if trial is not None and trial.failures:
        return trial.because if trial.is_abandoned else f"a replica on {step.shape.name} was {trial.because}"
    if own.rollout.stuck:
        return f"replicas on {step.shape.name} did not come to serve: {own.rollout.stuck}"
    odd = (
        r for r in own.replicas if not (r.is_old or r.is_ready or r.is_leaving) and r.ready_at_s is not None
    )
    return next((f"pod {r.pod} serves on {r.shape}, not on {step.shape}" for r in odd), "")
