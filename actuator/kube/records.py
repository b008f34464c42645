"""What a cluster keeps for us in custom resources: plans, how far they are, and targets for others."""

from __future__ import annotations

from collections.abc import Callable

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import ExistsError, NotFoundError
from actuator.kube.mirror import Mirror, Scope
from actuator.kube.resources import PLANS, TARGETS
from actuator.manifest import Json
from actuator.marks import Marks
from actuator.objects.plans import newest_first, plan_of, record_of, status_of, target_labels, to_delete
from actuator.objects.targets import status_of as advice_status
from actuator.objects.targets import target_of
from actuator.ports import Advice, PlanRecord, StepRecord
from fleet.change import ChangeSet
from fleet.errors import ConflictError, RefusedError
from fleet.workload import WorkloadKey

Fence = Callable[[], int]
"""Returns how often the lead has changed hands up to ours; raises `RefusedError` where it is not ours."""

NO_TARGETS = "the cluster does not know FractionTarget: kubectl apply -f deploy/crds"
NO_PLANS = "the cluster does not know FractionPlan, so nothing can be done: kubectl apply -f deploy/crds"


class Records(Marks):
    """Writes and reads custom resources of ours, and creates whatever else is ours.

    Args:
        server: The API server.
        mirror: What is told of each write at once.
        fence: Asked right before every write.
    """

    def __init__(self, server: ApiServer, mirror: Mirror, fence: Fence) -> None:
        self._server = server
        self._mirror = mirror
        self._fence = fence

    def _record(self, change: ChangeSet, target: Json) -> PlanRecord:
        scope = Scope(PLANS, change.target.namespace)
        try:
            held = self._create(scope, plan_of(change, target["kind"], target["apiVersion"]))
        except ExistsError:
            return self._kept(change)
        except NotFoundError as error:
            raise RefusedError(NO_PLANS) from error
        for name in to_delete(self.plans(change.target)):
            self._fence()
            self._server.request("DELETE", PLANS.path(scope.namespace, name))
        return record_of(held)

    def plans(self, workload: WorkloadKey) -> tuple[PlanRecord, ...]:
        """Return the kept plans of a workload, newest first; none where plans are not known at all."""
        labels = ",".join(f"{key}={value}" for key, value in target_labels(workload).items())
        try:
            found = self._server.request(
                "GET", PLANS.path(workload.namespace), None, {"labelSelector": labels}
            )
        except NotFoundError:
            return ()
        return newest_first(record_of(plan) for plan in found["items"])

    def _keep(self, plan: PlanRecord, steps: tuple[StepRecord, ...]) -> PlanRecord:
        scope, name = Scope(PLANS, plan.change.target.namespace), plan.change.name
        body = {
            "apiVersion": PLANS.api_version,
            "kind": PLANS.kind,
            "metadata": {"namespace": scope.namespace, "name": name, "resourceVersion": plan.version},
            "status": {"leaseTransitions": self._fence(), **status_of(steps)},
        }
        try:
            # Nobody else writes the status, and the version that it carries says that nobody did.
            held = self._server.apply(PLANS.path(scope.namespace, name, "status"), body, force=True)
        except NotFoundError as error:
            raise ConflictError(f"{PLANS.kind} {scope.namespace}/{name} does not exist") from error
        self._mirror.take(scope, held)
        return record_of(held)

    def _kept(self, change: ChangeSet) -> PlanRecord:
        for record in self.plans(change.target):
            if record.change.name == change.name:
                return record
        raise ConflictError(
            f"{PLANS.kind} {change.target.namespace}/{change.name} is not kept as a plan of ours"
        )

    def _create(self, scope: Scope, body: Json) -> Json:
        self._fence()
        held = self._server.create(scope.path, body)
        self._mirror.take(scope, held)
        return held

    def _publish(self, base: Json, advice: Advice) -> None:
        body = target_of(base)
        said = {**body, "metadata": {key: body["metadata"][key] for key in ("name", "namespace")}}
        path = TARGETS.path(said["metadata"]["namespace"], said["metadata"]["name"], "status")
        said["status"] = advice_status(advice)
        try:
            self._fence()
            self._server.apply(path, said, force=True)
        except NotFoundError:
            try:
                self._fence()
                self._server.create(TARGETS.path(said["metadata"]["namespace"]), body)
            except NotFoundError as error:
                raise RefusedError(NO_TARGETS) from error
            self._fence()
            self._server.apply(path, said, force=True)
