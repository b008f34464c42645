"""When what a step added became ready, and that it has proven itself: what lead times and trust rest on.

Kubernetes keeps these times with the pods, which go. They are noted in the plan, so that a new process
and the next replica know how long a change of this workload takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from actuator.ports import Cluster, PlanRecord, Readiness
from fleet.change import StepState, Verb
from fleet.cluster import Replica, Standing
from fleet.past import Start
from fleet.shape import Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey

_CLOCKS_S = 2.0
"""Creation times are whole seconds, by another clock than ours."""

_CREATED_WITHIN_S = 60.0
"""Pods that come later are others: of a drain, or of a step of somebody else."""


# A switch is under way as long as its trial is.
_TELLING = {
    Verb.SCALE_UP: frozenset({StepState.DONE}),
    Verb.SWITCH: frozenset({StepState.CLAIMED, StepState.DONE}),
}
"""States in which a step has brought replicas of its shape, of which it can tell how their trial goes."""


def starts(records: Iterable[PlanRecord]) -> Iterator[Start]:
    """Yield the additions of kept plans that have become ready, in the order of the plans."""
    for record in records:
        for kept in record.steps:
            seen = kept.readiness
            if seen is not None:
                yield Start(kept.at_s, seen.scheduled_at_s, seen.ready_at_s)


def news(
    record: PlanRecord, standing: Standing, answered: frozenset[str] = frozenset(), at_s: float = 0.0
) -> Iterator[tuple[int, Readiness]]:
    """Yield which steps of a plan are further than the plan says, and since when.

    Args:
        record: The plan.
        standing: The workload.
        answered: Pods that have given a first token by
        at_s: now, seconds since the epoch.
    """
    for index, kept in enumerate(record.steps):
        added = _added(record, index, standing)
        if not added:
            continue
        if kept.readiness is None:
            seen = _readiness(added)
            if seen is not None:
                yield index, seen
        elif kept.readiness.first_token_at_s is None and all(replica.pod in answered for replica in added):
            first_token_at_s = max(at_s, kept.readiness.ready_at_s)
            yield index, replace(kept.readiness, first_token_at_s=first_token_at_s)


def note_trial(cluster: Cluster, workload: WorkloadKey, shape: Shape, trial: Trial) -> None:
    """Note how far a shape has come, in the newest plan that brought replicas of it; without one, nothing."""
    for record in cluster.plans(workload):
        for index, (step, kept) in enumerate(zip(record.change.steps, record.steps, strict=True)):
            if step.shape == shape and kept.state in _TELLING.get(step.verb, ()):
                cluster.note_trial(record, index, trial)
                return


def unanswered(record: PlanRecord, standing: Standing) -> frozenset[str]:
    """Return the pods that a plan added and whose first token it does not tell of."""
    return frozenset(
        replica.pod
        for index, kept in enumerate(record.steps)
        if kept.readiness is not None and kept.readiness.first_token_at_s is None
        for replica in _added(record, index, standing)
    )


def _added(record: PlanRecord, index: int, standing: Standing) -> list[Replica]:
    """Return the replicas that a step added, as far as they are there."""
    step, kept = record.change.steps[index], record.steps[index]
    variant = standing.named(step.variant)
    if step.verb is not Verb.SCALE_UP or kept.state is not StepState.DONE or variant is None:
        return []
    earliest_s, latest_s = kept.at_s - _CLOCKS_S, kept.at_s + _CREATED_WITHIN_S
    return [replica for replica in variant.replicas if earliest_s <= replica.created_at_s <= latest_s]


def _readiness(added: Sequence[Replica]) -> Readiness | None:
    """Return when replicas were ready, `None` while one is not."""
    scheduled, ready, prepared = (
        [at_s for replica in added if (at_s := getattr(replica, name)) is not None]
        for name in ("scheduled_at_s", "ready_at_s", "prepared_at_s")
    )
    if len(ready) < len(added) or len(scheduled) < len(added):
        return None
    return Readiness(max(scheduled), max(ready), max(prepared) if len(prepared) == len(added) else None)
