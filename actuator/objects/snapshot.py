"""The fleet, read from one consistent set of Kubernetes objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from actuator.evidence import news, starts
from actuator.manifest import Json
from actuator.objects.plans import fall_of, first, is_open, newest_first, record_of
from actuator.objects.slices import SliceReader
from actuator.objects.standings import Observer, allocated
from actuator.ports import PlanRecord
from fleet.change import StepState
from fleet.cluster import Fleet, Standing
from fleet.errors import RefusedError
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Objects of a cluster as of one version, as plain JSON; kinds are those of their names.

    Attributes:
        version: Token that changes whenever any of the objects does.
        slices: Every ResourceSlice; foreign drivers are skipped.
        claims: Every ResourceClaim of every namespace: foreign ones hold devices too.
        deployments: At least those of the workloads' namespaces, as are templates, pods and plans.
        templates: ResourceClaimTemplates.
        pods: Pods.
        plans: FractionPlans.
        budgets: PodDisruptionBudgets.
    """

    version: str
    slices: Sequence[Json]
    claims: Sequence[Json]
    deployments: Sequence[Json]
    templates: Sequence[Json]
    pods: Sequence[Json]
    plans: Sequence[Json] = ()
    budgets: Sequence[Json] = ()


def fleet_of(snapshot: Snapshot, workloads: Iterable[WorkloadKey], reader: SliceReader) -> Fleet:
    """Return the fleet that the objects show; why a workload cannot be handled is in `refused`.

    Args:
        snapshot: The objects.
        workloads: Those that are opted in; nothing else becomes a standing.
        reader: Kept by the caller from one call to the next, so that unchanged slices are not parsed again.
    """
    inventory = reader.read(snapshot.slices)
    observer = Observer(
        inventory,
        snapshot.deployments,
        snapshot.templates,
        snapshot.pods,
        snapshot.claims,
        snapshot.budgets,
    )
    plans = records_by_target(snapshot.plans)
    standings, refused = [], {}
    for key in workloads:
        try:
            standing = observer.standing(key)
        except RefusedError as error:
            refused[key] = str(error)
            continue
        if standing is not None:
            standings.append(with_history(standing, plans.get(key, ())))
    return Fleet(
        version=snapshot.version,
        gpus=inventory.gpus,
        pools=inventory.pools,
        allocated=allocated(snapshot.claims, inventory),
        standings=tuple(standings),
        refused=refused,
        barred=inventory.barred,
    )


def records_by_target(plans: Iterable[Json]) -> dict[WorkloadKey, tuple[PlanRecord, ...]]:
    """Return the plans of each workload, newest first."""
    found: dict[WorkloadKey, list[PlanRecord]] = {}
    for plan in plans:
        record = record_of(plan)
        found.setdefault(record.change.target, []).append(record)
    return {target: newest_first(records) for target, records in found.items()}


def with_history(standing: Standing, plans: Sequence[PlanRecord]) -> Standing:
    """Return the standing with what its plans, newest first, say of when it changed and where it is going."""
    open_plan = next((record for record in plans if is_open(record)), None)
    return replace(
        standing,
        changed_at_s=_last_done_at_s(plans),
        reshaped_at_s=_last_done_at_s([record for record in plans if record.change.is_reshape]),
        moving_to=open_plan.change.goal if open_plan is not None else None,
        before=first(plans).change.start if plans else None,
        falls=tuple(fall for record in plans if (fall := fall_of(record)) is not None),
        starts=tuple(starts(plans)),
        has_news=any(True for record in plans for _ in news(record, standing)),
    )


def _last_done_at_s(plans: Iterable[PlanRecord]) -> float | None:
    done = (step.at_s for record in plans for step in record.steps if step.state is StepState.DONE)
    return max(done, default=None)
