"""What decisions say to those who act on workloads in our place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from actuator.ports import Advice
from allocator.decide import Decision
from fleet.workload import Way, Workload, WorkloadKey


def advices(
    decisions: Iterable[Decision], workloads: Iterable[Workload], at_s: float
) -> Mapping[WorkloadKey, Advice]:
    """Return where each workload should be whose target is published, in a mode that lets it be said."""
    published = {w.key for w in workloads if w.way is Way.PUBLISH and w.mode.may_add}
    return {
        decision.workload: Advice(
            goal=decision.goal,
            up=decision.need.up,
            keep=decision.need.keep,
            short=decision.short,
            reason="; ".join(decision.because) or decision.need.because,
            at_s=at_s,
        )
        for decision in decisions
        if decision.workload in published
    }
