"""A Kubernetes cluster as the service sees it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from threading import Lock

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import ExistsError, NotFoundError
from actuator.kube.mirror import Mirror, Scope
from actuator.kube.records import NO_PLANS, Fence
from actuator.kube.reflector import Reflector
from actuator.kube.resources import (
    AUTOSCALERS,
    BUDGETS,
    CLAIM_TEMPLATES,
    CLAIMS,
    CLUSTER_WIDE,
    DEPLOYMENTS,
    LEADER_WORKER_SETS,
    NODES,
    OF_WORKLOADS,
    PLANS,
    PODS,
    SCALED_OBJECTS,
    SERVING,
    SLICES,
    STATEFUL_SETS,
    TAINT_RULES,
    Resource,
)
from actuator.kube.scale import apply_field, flooring, scaled, scaling
from actuator.kube.switching import Switching
from actuator.manifest import Json, key_of, version_of
from actuator.objects.beside import ALONE, Beside, is_of
from actuator.objects.groups import as_deployment
from actuator.objects.readers import Readers
from actuator.objects.rehearsal import Stage, is_pointed, rewrites
from actuator.objects.snapshot import Snapshot, fleet_of
from actuator.objects.variants import NOWHERE, Makings, Spreading, is_variant_of, makings_of, variant_objects
from actuator.objects.writers import scalers_of
from actuator.ports import Advice, PlanRecord, Rewrite
from fleet.change import ChangeSet, Step
from fleet.cluster import Fleet
from fleet.errors import ConflictError, RefusedError, UnavailableError
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from fleet.writers import Scaler

FIRST_LIST_S = 20.0
"""How long a view waits for what was never listed."""

CATCH_UP_S = 1.0
"""How long a write that met a newer version waits to hear of it."""

_PAUSE_S = 0.01

SCALERS = {resource.kind: resource for resource in (AUTOSCALERS, SCALED_OBJECTS)}
"""What sets replicas by load, by kind, in the order in which `scalers_of` takes them."""


class KubeCluster(Switching):
    """Implements `actuator.ports.Cluster` on an API server. Close it in the end.

    It is read by watches, so a view costs no request; it shows what we wrote at once, and what others wrote
    within moments. Resources are watched one by one, so it may show two of them some milliseconds apart.
    Plans are read anew whenever they are asked for: a new leader must not go by what it heard.

    Args:
        server: The API server.
        namespaces: Namespaces of workloads; those of workloads that `view` is asked for later are added.
        fence: Asked right before every write.
        spreading: What fault domains are, and whose copies are spread over them.
        beside: Deployments beside the workloads' own.
        holds: Whether DeviceTaintRules are watched, by which room is held.
    """

    def __init__(
        self,
        server: ApiServer,
        namespaces: Iterable[str],
        fence: Fence,
        spreading: Spreading = NOWHERE,
        *,
        beside: Beside = ALONE,
        holds: bool = False,
    ) -> None:
        super().__init__(server, Mirror(), fence)
        self._spreading, self._beside = spreading, beside
        self._readers = Readers()
        self._lock = Lock()
        self._seen: tuple[tuple[WorkloadKey, ...], Fleet] | None = None
        self._reflectors: dict[Scope, Reflector] = {}
        cluster_wide = (*CLUSTER_WIDE, TAINT_RULES) if holds else CLUSTER_WIDE
        self._watch([*map(Scope, cluster_wide), *_scopes(namespaces)])

    def close(self) -> None:
        """End all watches."""
        for reflector in self._reflectors.values():
            reflector.close()

    def age_s(self) -> float | None:
        """Return how long ago the quietest watch was last heard of, `None` until all has been listed."""
        ages = [reflector.age_s() for reflector in self._reflectors.values()]
        known = [age_s for age_s in ages if age_s is not None]
        return max(known) if len(known) == len(ages) else None

    def version(self) -> str:
        """Return a token that changes whenever `view` would."""
        return self._mirror.version

    def is_leader(self) -> bool:
        """Return whether the fence lets this process write."""
        try:
            self._fence()
        except RefusedError:
            return False
        return True

    def view(self, workloads: Sequence[WorkloadKey]) -> Fleet:
        """Return a snapshot of the fleet and of these workloads; `UnavailableError` before the first one."""
        asked = tuple(workloads)
        with self._lock:
            self._watch(_scopes(key.namespace for key in asked))
            self._await_lists()
            if self._seen is None or self._seen[0] != asked or self._seen[1].version != self.version():
                version, held = self._mirror.snapshot()
                snapshot = Snapshot(
                    version=version,
                    slices=held[SLICES],
                    claims=held[CLAIMS],
                    deployments=[
                        *map(as_deployment, held[LEADER_WORKER_SETS]),
                        *held[STATEFUL_SETS],
                        *held[DEPLOYMENTS],
                    ],
                    templates=held[CLAIM_TEMPLATES],
                    pods=held[PODS],
                    plans=held[PLANS],
                    budgets=held[BUDGETS],
                    autoscalers=held[AUTOSCALERS],
                    scaled_objects=held[SCALED_OBJECTS],
                    nodes=held[NODES],
                    taint_rules=held[TAINT_RULES],
                )
                label = self._spreading.label
                self._seen = asked, fleet_of(snapshot, asked, self._readers, label, self._beside)
            return self._seen[1]

    def rehearse(self, change: ChangeSet, steps: Sequence[Step]) -> tuple[Rewrite, ...]:
        """Return what carrying out these steps of a change would write, judged by a server-side dry run."""
        namespace, makings = change.target.namespace, self._makings(change.target)
        deployments, plans = (
            {body["metadata"]["name"]: body for body in self._mirror.list(Scope(kind, namespace))}
            for kind in (DEPLOYMENTS, PLANS)
        )
        base = self._base(change.target)
        deployments.setdefault(change.target.name, base)
        stage = Stage(base, deployments, makings, frozenset(plans))
        found = tuple(rewrites(change, steps, stage))
        return tuple(replace(rewrite, objection=self._objection(rewrite)) for rewrite in found)

    def reference(self, workload: WorkloadKey) -> Json:
        """Return how objects that are about a workload refer to it; one not seen has no uid."""
        resource, body = self._own(workload) or (DEPLOYMENTS, None)
        uid = {"uid": body["metadata"]["uid"]} if body is not None else {}
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        return {**kind, "namespace": workload.namespace, "name": workload.name, **uid}

    def create_variant(self, workload: WorkloadKey, name: str, shape: Shape) -> None:
        """Create a copy of the workload's Deployment at zero replicas of this shape; existing = no change.

        Created and not applied: of two that try, one must be told, and replicas must not go back to zero.
        """
        base = self._base(workload)
        fleet = self.view([workload])
        if reason := fleet.barred.get(shape):
            raise RefusedError(f"Deployment {workload} gets no {shape}: {reason}")
        templates, deployments = (Scope(kind, workload.namespace) for kind in (CLAIM_TEMPLATES, DEPLOYMENTS))
        *made, variant = variant_objects(base, self._makings(workload), name, shape)
        held = self._mirror.get(deployments, name)
        if held is not None and not is_variant_of(held, base):
            raise RefusedError(f"Deployment {workload.namespace}/{name} is no variant of {workload}")
        missing = [(deployments, variant)] if held is None else []
        for template in made:
            if self._mirror.get(templates, template["metadata"]["name"]) is None:
                missing.insert(0, (templates, template))
        for scope, body in missing:
            # Both are judged before either is written: what is refused leaves nothing behind.
            with suppress(ExistsError):
                self._judge(scope.path, body)
        for scope, body in missing:
            # A template's name says what is in it; of two that make a variant, one must be told.
            with suppress(ExistsError) if scope is templates else nullcontext():
                self._create(scope, body)

    def scale(self, workload: WorkloadKey, variant: str, replicas: int, *, expects: str | None) -> None:
        """Set the replicas of one Deployment; `expects` is the version it must still have (`None` = any)."""
        resource, base = self._owned(workload)
        scope = Scope(resource if variant == workload.name else DEPLOYMENTS, workload.namespace)
        held = self._mirror.get(scope, variant)
        if held is None:
            raise ConflictError(f"Deployment {workload.namespace}/{variant} does not exist")
        if not is_of(held, base, self._beside):
            raise RefusedError(f"Deployment {workload.namespace}/{variant} is no variant of {workload}")
        while True:
            try:
                scale = self._apply_scale(scope, variant, replicas, expects, held)
            except ConflictError:
                newer = self._as_decided_on(scope, variant, replicas, expects)
                if newer is None:
                    raise
                held, expects = newer, version_of(newer)
            else:
                self._mirror.take(scope, scaled(held, scale))
                return

    def record(self, change: ChangeSet) -> PlanRecord:
        """Write a new plan and return what the cluster holds; of a target 20 and the first are kept."""
        return self._record(change, self.reference(change.target))

    def publish(self, workload: WorkloadKey, advice: Advice) -> None:
        """Say where a workload should be, in place of what was said before."""
        self._publish(self._base(workload), advice)

    def set_floor(self, workload: WorkloadKey, replicas: int, *, expects: str | None) -> None:
        """Set the fewest replicas of what scales a workload; `expects` is the version it must still have."""
        scaler = self._scaler(workload)
        scope = Scope(SCALERS[scaler.kind], workload.namespace)
        path = scope.resource.path(scope.namespace, scaler.name)
        where, field = f"{scaler.kind} {scope.namespace}/{scaler.name}", f"spec.{scaler.floor_field}"
        while True:
            body = flooring(scope.namespace, scaler, replicas, expects)
            try:
                held = self._apply(path, body, where, field, is_autoscaled=False)
            except ConflictError:
                # Its controller writes its status all the time.
                is_ours = scaler.version == expects and replicas >= scaler.floor
                newer = self._newer(scope, scaler.name, expects) if is_ours else None
                if newer is None or self._scaler(workload).floor != scaler.floor:
                    raise
                scaler, expects = self._scaler(workload), version_of(newer)
            else:
                self._mirror.take(scope, held)
                return

    def _apply_scale(self, scope: Scope, name: str, replicas: int, expects: str | None, held: Json) -> Json:
        path = scope.resource.path(scope.namespace, name, "scale")
        body = scaling(scope.namespace, name, replicas, expects)
        if scope.resource is LEADER_WORKER_SETS:
            self._fence()
            return self._server.merge(path, body)
        where = f"{scope.resource.kind} {scope.namespace}/{name}"
        return self._apply(path, body, where, "spec.replicas", is_autoscaled=bool(self._scalers(held)))

    def _apply(self, path: str, body: Json, where: str, field: str, *, is_autoscaled: bool) -> Json:
        def apply(*, force: bool) -> Json:
            self._fence()
            return self._server.apply(path, body, force=force)

        return apply_field(apply, where, field, is_autoscaled=is_autoscaled)

    def _scaler(self, workload: WorkloadKey) -> Scaler:
        """Return what scales a workload; `RefusedError` if nothing does."""
        found = self._scalers(self._base(workload))
        if not found:
            raise RefusedError(f"nothing scales Deployment {workload}")
        return found[0]

    def _scalers(self, base: Json) -> tuple[Scaler, ...]:
        namespace = key_of(base).namespace
        return scalers_of(base, *(self._mirror.list(Scope(kind, namespace)) for kind in SCALERS.values()))

    def _objection(self, rewrite: Rewrite) -> str:
        """Return what the API server has against writing something, empty = nothing."""
        body = dict(rewrite.after)
        resource = {kind.kind: kind for kind in (*SERVING, CLAIM_TEMPLATES, PLANS)}[body["kind"]]
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        try:
            if rewrite.before is None:
                self._judge(resource.path(namespace), body)
            else:
                if is_pointed(rewrite):
                    self._judge_pointing(body)
                    if body["spec"]["replicas"] == rewrite.before["spec"].get("replicas", 1):
                        return ""
                path = resource.path(namespace, name, "scale")
                scale = scaling(namespace, name, body["spec"]["replicas"], None)
                if resource is LEADER_WORKER_SETS:
                    self._server.merge(path, scale, is_dry=True)
                    return ""
                apply_field(
                    partial(self._server.apply, path, scale, is_dry=True),
                    f"{body['kind']} {namespace}/{name}",
                    "spec.replicas",
                    is_autoscaled=bool(self._scalers(body)),
                )
        except NotFoundError:
            return NO_PLANS
        except (ConflictError, RefusedError) as error:
            return str(error)
        return ""

    def _makings(self, workload: WorkloadKey) -> Makings:
        """Return what copies of a workload are made with."""
        return makings_of(
            self.view([workload]),
            self._mirror.list(Scope(CLAIM_TEMPLATES, workload.namespace)),
            self._mirror.list(Scope(NODES)),
            self._mirror.list(Scope(SLICES)),
            self._spreading.of(workload),
        )

    def _as_decided_on(self, scope: Scope, name: str, replicas: int, version: str | None) -> Json | None:
        """Return what replicas that were decided on one version may be written on, `None` = on nothing newer.

        Controllers write a Deployment's status all the time, above all while its pods start. That changes
        nothing of what was asked for; yet only a raise goes on regardless, since whether replicas can be
        spared is judged by the status.
        """
        newer = self._newer(scope, name, version)
        if version is None or newer is None or not self._mirror.is_asked_the_same(scope, name, version):
            return None
        return newer if replicas >= newer["spec"].get("replicas", 1) else None

    def _newer(self, scope: Scope, name: str, version: str | None) -> Json | None:
        """Return what became of an object since a version, once that is heard of; `None` if it is not."""
        until_s = time.monotonic() + CATCH_UP_S
        while time.monotonic() < until_s:
            held = self._mirror.get(scope, name)
            if held is None or version_of(held) != version:
                return held
            time.sleep(_PAUSE_S)
        return None

    def _own(self, workload: WorkloadKey) -> tuple[Resource, Json] | None:
        """Return the workload's own object and what it is, `None` if there is none."""
        found = ((kind, self._mirror.get(Scope(kind, workload.namespace), workload.name)) for kind in SERVING)
        return next(((kind, body) for kind, body in found if body is not None), None)

    def _owned(self, workload: WorkloadKey) -> tuple[Resource, Json]:
        """Likewise; `RefusedError` if there is none."""
        found = self._own(workload)
        if found is None:
            raise RefusedError(f"Deployment {workload} does not exist")
        return found

    def _base(self, workload: WorkloadKey) -> Json:
        return self._owned(workload)[1]

    def _watch(self, scopes: Iterable[Scope]) -> None:
        for scope in scopes:
            if scope not in self._reflectors:
                self._reflectors[scope] = Reflector(self._server, scope, self._mirror)

    def _await_lists(self) -> None:
        until_s = time.monotonic() + FIRST_LIST_S
        for scope, reflector in self._reflectors.items():
            if not reflector.is_listed(until_s - time.monotonic()):
                raise UnavailableError(reflector.trouble or f"{scope.path} was not listed yet")


def _scopes(namespaces: Iterable[str]) -> list[Scope]:
    return [Scope(kind, namespace) for namespace in namespaces for kind in OF_WORKLOADS]
