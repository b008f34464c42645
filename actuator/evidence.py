"""When what a step added became ready: the evidence from which lead times are learnt.

Kubernetes keeps these times with the pods, which go. They are noted in the plan, so that a new process
and the next replica know how long a change of this workload takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from actuator.ports import PlanRecord, Readiness
from fleet.change import StepState, Verb
from fleet.cluster import Standing, Start

_CLOCKS_S = 2.0
"""Creation times are whole seconds, by another clock than ours."""

_CREATED_WITHIN_S = 60.0
"""Pods that come later are others: of a drain, or of a step of somebody else."""


def starts(records: Iterable[PlanRecord]) -> Iterator[Start]:
    """Yield the additions of kept plans that have become ready, in the order of the plans."""
    for record in records:
        for kept in record.steps:
            seen = kept.readiness
            if seen is not None:
                yield Start(kept.at_s, seen.scheduled_at_s, seen.ready_at_s)


def news(record: PlanRecord, standing: Standing) -> Iterator[tuple[int, Readiness]]:
    """Yield which steps of a plan have what they added ready without the plan saying so, and since when."""
    for index, (step, kept) in enumerate(zip(record.change.steps, record.steps, strict=True)):
        if step.verb is Verb.SCALE_UP and kept.state is StepState.DONE and kept.readiness is None:
            seen = _readiness(record, index, standing)
            if seen is not None:
                yield index, seen


def _readiness(record: PlanRecord, index: int, standing: Standing) -> Readiness | None:
    """Return when the replicas that a step added were ready, `None` while one is not, or none is left."""
    step, written_at_s = record.change.steps[index], record.steps[index].at_s
    variant = standing.named(step.variant)
    added = [
        replica
        for replica in (variant.replicas if variant is not None else ())
        if written_at_s - _CLOCKS_S <= replica.created_at_s <= written_at_s + _CREATED_WITHIN_S
    ]
    ready = [replica.ready_at_s for replica in added if replica.ready_at_s is not None]
    scheduled = [replica.scheduled_at_s for replica in added if replica.scheduled_at_s is not None]
    if not added or len(ready) < len(added) or len(scheduled) < len(added):
        return None
    return Readiness(max(scheduled), max(ready))
