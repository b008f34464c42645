"""The embedded cluster as the service sees it."""

from __future__ import annotations

from collections.abc import Sequence

from actuator.manifest import Json, version_of
from actuator.marks import Marks
from actuator.objects.beside import ALONE, Beside, is_of
from actuator.objects.holds import rule_of
from actuator.objects.plans import newest_first, plan_of, record_of, status_of, target_labels, to_delete
from actuator.objects.readers import Readers
from actuator.objects.rehearsal import Stage, rewrites
from actuator.objects.snapshot import Snapshot, fleet_of
from actuator.objects.switching import back_to, switch_objects
from actuator.objects.targets import status_of as advice_status
from actuator.objects.targets import target_of
from actuator.objects.variants import (
    NOWHERE,
    Makings,
    Spreading,
    is_variant_of,
    makings_of,
    unused_templates,
    variant_objects,
)
from actuator.objects.writers import scalers_of
from actuator.ports import Advice, PlanRecord, Rewrite, StepRecord
from fleet.change import ChangeSet, Step
from fleet.cluster import Fleet
from fleet.errors import ConflictError, RefusedError
from fleet.holds import Hold
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from simulator.api import (
    AUTOSCALER,
    BUDGET,
    CLAIM,
    CLAIM_TEMPLATE,
    DEPLOYMENT,
    FRACTION_PLAN,
    FRACTION_TARGET,
    NODE,
    POD,
    SLICE,
    TAINT_RULE,
)
from simulator.store import ObjectStore


class EmbeddedCluster(Marks):
    """Implements `actuator.ports.Cluster` on the object store, which is read anew only after a change."""

    def __init__(self, store: ObjectStore, spreading: Spreading = NOWHERE, beside: Beside = ALONE) -> None:
        self._store = store
        self._spreading = spreading
        self._beside = beside
        self._readers = Readers()
        self._seen: dict[tuple[WorkloadKey, ...], Fleet] = {}

    def version(self) -> str:
        """Return a token that changes whenever `view` would."""
        return str(self._store.version)

    def age_s(self) -> float | None:
        """Return how long ago the cluster was last heard of: it is in this process."""
        return 0.0

    def is_leader(self) -> bool:
        """Return whether this process may write: no other is there."""
        return True

    def view(self, workloads: Sequence[WorkloadKey]) -> Fleet:
        """Return one consistent snapshot of the fleet and of these workloads."""
        asked, version = tuple(workloads), self.version()
        self._seen = {keys: fleet for keys, fleet in self._seen.items() if fleet.version == version}
        if asked not in self._seen:
            self._seen[asked] = self._read(asked, version)
        return self._seen[asked]

    def rehearse(self, change: ChangeSet, steps: Sequence[Step]) -> tuple[Rewrite, ...]:
        """Return what carrying out these steps of a change would write."""
        deployments, plans = (
            {body["metadata"]["name"]: body for body in self._store.list(kind, change.target.namespace)}
            for kind in (DEPLOYMENT, FRACTION_PLAN)
        )
        makings = self._makings(change.target)
        stage = Stage(self._base(change.target), deployments, makings, frozenset(plans))
        return tuple(rewrites(change, steps, stage))

    def create_variant(self, workload: WorkloadKey, name: str, shape: Shape) -> None:
        """Create a copy of the workload's Deployment at zero replicas of this shape; existing = no change."""
        base = self._base(workload)
        *templates, variant = variant_objects(base, self._makings(workload), name, shape)
        held = self._store.get(DEPLOYMENT, workload.namespace, name)
        if held is not None and not is_variant_of(held, base):
            raise RefusedError(f"Deployment {workload.namespace}/{name} is no variant of {workload}")
        for template in templates:
            if self._store.get(CLAIM_TEMPLATE, workload.namespace, template["metadata"]["name"]) is None:
                self._store.create(template)
        if held is None:
            self._store.create(variant)

    def scale(self, workload: WorkloadKey, variant: str, replicas: int, *, expects: str | None) -> None:
        """Set the replicas of one Deployment; `expects` is the version it must still have (`None` = any)."""
        base = self._base(workload)
        held = self._store.get(DEPLOYMENT, workload.namespace, variant)
        if held is None:
            raise ConflictError(f"Deployment {workload.namespace}/{variant} does not exist")
        if not is_of(held, base, self._beside):
            raise RefusedError(f"Deployment {workload.namespace}/{variant} is no variant of {workload}")
        metadata = {**held["metadata"], "resourceVersion": version_of(held) if expects is None else expects}
        self._store.replace({**held, "metadata": metadata, "spec": {**held["spec"], "replicas": replicas}})

    def switch(self, workload: WorkloadKey, shape: Shape, *, expects: str | None) -> None:
        """Point the workload's Deployment to a claim template of a shape, made where there is none."""
        base, makings = self._base(workload), self._makings(workload)
        *templates, after = switch_objects(base, makings, shape)
        self._refuse_older(base, expects)
        for template in templates:
            if template["metadata"]["name"] not in makings.templates:
                self._store.create(template)
        self._store.replace(after)

    def switch_back(self, workload: WorkloadKey, template: str, *, expects: str | None) -> None:
        """Point the workload's Deployment to a claim template that is there."""
        base = self._base(workload)
        after = back_to(base, self._makings(workload), template)
        self._refuse_older(base, expects)
        self._store.replace(after)

    def sweep_templates(self, workload: WorkloadKey) -> None:
        """Delete claim templates that we made for a workload and that nothing of it names; no history is."""
        namespace = workload.namespace
        makers = [*self._store.list(DEPLOYMENT, namespace), *self._store.list(POD, namespace)]
        templates = self._store.list(CLAIM_TEMPLATE, namespace)
        for name in unused_templates(templates, makers, self._base(workload)):
            self._store.delete(CLAIM_TEMPLATE, namespace, name)

    def set_floor(self, workload: WorkloadKey, replicas: int, *, expects: str | None) -> None:
        """Set the fewest replicas of what scales a workload; `expects` is the version it must still have."""
        found = scalers_of(self._base(workload), self._store.list(AUTOSCALER, workload.namespace))
        if not found:
            raise RefusedError(f"nothing scales Deployment {workload}")
        held = self._store.get(AUTOSCALER, workload.namespace, found[0].name)
        if held is None:
            raise ConflictError(f"{found[0].kind} {workload.namespace}/{found[0].name} does not exist")
        metadata = {**held["metadata"], "resourceVersion": version_of(held) if expects is None else expects}
        self._store.replace({**held, "metadata": metadata, "spec": {**held["spec"], "minReplicas": replicas}})

    def hold(self, hold: Hold) -> None:
        """Keep new claims of others off a device; `ConflictError` where it is held already."""
        self._store.create(rule_of(hold))

    def release(self, hold: Hold) -> None:
        """End a hold that was seen, and none that came after it."""
        if self._store.get(TAINT_RULE, None, hold.name) is not None:
            self._store.delete(TAINT_RULE, None, hold.name, uid=hold.uid)

    def publish(self, workload: WorkloadKey, advice: Advice) -> None:
        """Say where a workload should be, in place of what was said before."""
        held = self._store.get(FRACTION_TARGET, workload.namespace, workload.name)
        held = held or self._store.create(target_of(self._base(workload)))
        self._store.replace_status({**held, "status": advice_status(advice)})

    def record(self, change: ChangeSet) -> PlanRecord:
        """Write a new plan and return what the cluster holds; of a target 20 and the first are kept."""
        namespace = change.target.namespace
        held = self._store.get(FRACTION_PLAN, namespace, change.name)
        if held is None:
            held = self._store.create(plan_of(change))
            for name in to_delete(self.plans(change.target)):
                self._store.delete(FRACTION_PLAN, namespace, name)
        return record_of(held)

    def plans(self, workload: WorkloadKey) -> tuple[PlanRecord, ...]:
        """Return the kept plans of a workload, newest first."""
        held = self._store.list(FRACTION_PLAN, workload.namespace, target_labels(workload))
        return newest_first(map(self._readers.plans.record, held))

    def _keep(self, plan: PlanRecord, steps: tuple[StepRecord, ...]) -> PlanRecord:
        namespace, name = plan.change.target.namespace, plan.change.name
        held = self._store.get(FRACTION_PLAN, namespace, name)
        if held is None:
            raise ConflictError(f"FractionPlan {namespace}/{name} does not exist")
        metadata = {**held["metadata"], "resourceVersion": plan.version}
        return record_of(
            self._store.replace_status({**held, "metadata": metadata, "status": status_of(steps)})
        )

    def _read(self, workloads: tuple[WorkloadKey, ...], version: str) -> Fleet:
        snapshot = Snapshot(
            version=version,
            slices=self._store.list(SLICE),
            claims=self._store.list(CLAIM),
            deployments=self._store.list(DEPLOYMENT),
            templates=self._store.list(CLAIM_TEMPLATE),
            pods=self._store.list(POD),
            plans=self._store.list(FRACTION_PLAN),
            budgets=self._store.list(BUDGET),
            autoscalers=self._store.list(AUTOSCALER),
            nodes=self._store.list(NODE),
            taint_rules=self._store.list(TAINT_RULE),
        )
        return fleet_of(snapshot, workloads, self._readers, self._spreading.label, self._beside)

    def _makings(self, workload: WorkloadKey) -> Makings:
        return makings_of(
            self.view([workload]),
            self._store.list(CLAIM_TEMPLATE, workload.namespace),
            self._store.list(NODE),
            self._store.list(SLICE),
            self._spreading.of(workload),
        )

    def _refuse_older(self, held: Json, expects: str | None) -> None:
        if expects not in {None, version_of(held)}:
            name = held["metadata"]["name"]
            raise ConflictError(f"Deployment {name} is at version {version_of(held)}, not {expects}")

    def _base(self, workload: WorkloadKey) -> Json:
        """Return the workload's own Deployment; `RefusedError` if there is none."""
        base = self._store.get(DEPLOYMENT, workload.namespace, workload.name)
        if base is None:
            raise RefusedError(f"Deployment {workload} does not exist")
        return base
