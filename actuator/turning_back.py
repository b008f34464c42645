"""What becomes of a switch whose pods do not come to serve: back to the template that stood before.

Level-triggered: that it failed is kept with the plan's step before anything is written, so that whoever comes
next goes back too, whatever the pods look like by then.
"""

from __future__ import annotations

from collections.abc import Iterator

from actuator.outcome import Outcome, StepResult
from actuator.ports import Cluster, PlanRecord, StepRecord
from actuator.settle import is_on_its_way, trial_of
from fleet.change import Step
from fleet.cluster import Standing, Variant
from fleet.trial import Trial


def turn_back(cluster: Cluster, record: PlanRecord, standing: Standing, at_s: float) -> Iterator[StepResult]:
    """Take failed switches of a kept plan back, and yield what became of each.

    The shape is not used again before the next day, or for as long as is rested where there was only no room
    for it. The step is settled once the cluster shows that the
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
        if not trial_of(kept).is_over:
            found_none = standing.own.rollout.stuck and finds_no_room(standing.own)
            last = standing.trials.get(step.shape, Trial())
            ended = last.without_room(why, at_s) if found_none else Trial().abandoned(why, at_s)
            record = cluster.note_trial(record, index, ended)
        cluster.switch_back(standing.key, step.template, expects=standing.own.rollout.version)
        reason = f"{why}: back to claim template {step.template}"
        yield StepResult(standing.key, step, Outcome.FAILED, reason)


def failure(standing: Standing, step: Step, kept: StepRecord) -> str:
    """Return why a switch that is on its way has failed, one clause; empty = it has not."""
    trial, own = trial_of(kept), standing.own
    if trial.failures or trial.is_over:
        return trial.because if trial.is_over else f"a replica on {step.shape.name} was {trial.because}"
    if own.rollout.stuck:
        what = "found no room" if finds_no_room(own) else "did not come to serve"
        return f"replicas on {step.shape.name} {what}: {own.rollout.stuck}"
    odd = (
        r for r in own.replicas if not (r.is_old or r.is_ready or r.is_leaving) and r.ready_at_s is not None
    )
    return next((f"pod {r.pod} serves on {r.shape}, not on {step.shape}" for r in odd), "")


def finds_no_room(own: Variant) -> bool:
    """Return whether a Deployment's newest template has pods, and not one of them was ever given a place.

    None of the earlier ones was ended then, and nothing was seen of the new ones on their shape.
    """
    new = [replica for replica in own.replicas if not replica.is_old]
    return bool(new) and all(r.scheduled_at_s is None and r.device is None for r in new)
