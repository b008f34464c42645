"""Deployments pointed from one claim template to another, by server-side apply of that one field."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress

from actuator.kube.errors import ExistsError, NotFoundError
from actuator.kube.holds import Holds
from actuator.kube.listing import listed
from actuator.kube.mirror import Scope
from actuator.kube.resources import CLAIM_TEMPLATES, DEPLOYMENTS, PODS, REPLICA_SETS
from actuator.kube.scale import apply_field
from actuator.manifest import Json, dropped, key_of
from actuator.objects.switching import back_to, pointing, switch_objects
from actuator.objects.variants import Makings, gpu_claim, unused_templates
from fleet.cluster import Fleet
from fleet.errors import RefusedError
from fleet.shape import Shape
from fleet.workload import WorkloadKey

FIELD = "resourceClaimTemplateName"


class Switching(Holds):
    """Points Deployments to claim templates, once dry runs have shown that the server takes both."""

    def switch(self, workload: WorkloadKey, shape: Shape, *, expects: str | None) -> None:
        """Point the workload's Deployment to a claim template of a shape, made where there is none."""
        base = self._base(workload)
        if reason := self.view([workload]).barred.get(shape):
            raise RefusedError(f"Deployment {workload} gets no {shape}: {reason}")
        makings = self._makings(workload)
        claim = gpu_claim(base, makings.templates)[0]
        *templates, after = switch_objects(base, makings, shape)
        scope = Scope(CLAIM_TEMPLATES, workload.namespace)
        missing = [one for one in templates if one["metadata"]["name"] not in makings.templates]
        # All is judged before anything is written: what is refused leaves nothing behind.
        for template in missing:
            with suppress(ExistsError):
                self._judge(scope.path, template)
        self._point(after, claim, None, is_dry=True)
        for template in missing:
            # Its name says what is in it: of two that make it, both may go on.
            with suppress(ExistsError):
                self._create(scope, template)
        self._point(after, claim, expects)

    def switch_back(self, workload: WorkloadKey, template: str, *, expects: str | None) -> None:
        """Point the workload's Deployment to a claim template that is there."""
        base, makings = self._base(workload), self._makings(workload)
        claim = gpu_claim(base, makings.templates)[0]
        self._point(back_to(base, makings, template), claim, expects)

    def sweep_templates(self, workload: WorkloadKey) -> None:
        """Delete claim templates that we made for a workload and that nothing of it names any more."""
        base, namespace = self._base(workload), workload.namespace
        if base["kind"] != DEPLOYMENTS.kind:
            return
        templates = self._mirror.list(Scope(CLAIM_TEMPLATES, namespace))
        pods = [pod for pod in self._mirror.list(Scope(PODS)) if key_of(pod).namespace == namespace]
        makers = [*self._mirror.list(Scope(DEPLOYMENTS, namespace)), *pods]
        if unused_templates(templates, makers, base):
            # Its history is read only where there is something to sweep.
            makers += listed(self._server, REPLICA_SETS.path(namespace))[0]
        held = {key_of(body).name: body for body in templates}
        for name in unused_templates(templates, makers, base):
            self._fence()
            with suppress(NotFoundError):
                preconditions = {"preconditions": {"uid": held[name]["metadata"]["uid"]}}
                self._server.request("DELETE", CLAIM_TEMPLATES.path(namespace, name), preconditions)
            self._mirror.drop(Scope(CLAIM_TEMPLATES, namespace), held[name])

    def _judge_pointing(self, after: Json) -> None:
        """Have the server judge whether a Deployment may name the claim template that it names here."""
        base = self._base(key_of(after))
        claim = gpu_claim(base, self._makings(key_of(after)).templates)[0]
        self._point(after, claim, None, is_dry=True)

    def _point(self, after: Json, claim: str, expects: str | None, *, is_dry: bool = False) -> None:
        """Write from which template a Deployment's pods get a claim, or only have that judged."""
        scope, name = Scope(DEPLOYMENTS, after["metadata"]["namespace"]), after["metadata"]["name"]
        path, body = DEPLOYMENTS.path(scope.namespace, name), pointing(after, claim, expects)

        def apply(*, force: bool) -> Json:
            if not is_dry:
                self._fence()
            return self._server.apply(path, body, force=force, is_dry=is_dry)

        held = apply_field(apply, f"Deployment {scope.namespace}/{name}", FIELD, is_autoscaled=False)
        if not is_dry:
            self._mirror.take(scope, held)

    def _judge(self, path: str, body: Json) -> None:
        """Have the server judge a new object; `RefusedError` too where it drops what a claim asks for."""
        kept = self._server.create(path, body, is_dry=True)
        if body["kind"] == CLAIM_TEMPLATES.kind and (lost := dropped(body["spec"], kept["spec"])):
            name = body["metadata"]["name"]
            raise RefusedError(
                f"the API server drops {lost} of ResourceClaimTemplate {name}, as where its feature is off: "
                "a claim would be given something else"
            )

    @abstractmethod
    def view(self, workloads: Sequence[WorkloadKey]) -> Fleet:
        """Return a snapshot of the fleet and of these workloads."""

    @abstractmethod
    def _base(self, workload: WorkloadKey) -> Json:
        """Return the workload's own object."""

    @abstractmethod
    def _makings(self, workload: WorkloadKey) -> Makings:
        """Return what copies of a workload are made with."""
