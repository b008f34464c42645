"""What carrying out a change would write, made up from the objects that stand now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from actuator.manifest import Json
from actuator.objects.plans import plan_of
from actuator.objects.switching import switch_objects
from actuator.objects.variants import Makings, variant_objects
from actuator.ports import Rewrite
from fleet.change import ChangeSet, Step, Verb
from fleet.workload import WorkloadKey
from fleet.writers import Scaler


@dataclass(frozen=True, slots=True)
class Stage:
    """What a rehearsal of one workload needs to know.

    Attributes:
        base: The workload's own object.
        deployments: What its namespace has, by name.
        makings: What copies are made with.
        plans: Names of the FractionPlans of the namespace.
    """

    base: Json
    deployments: Mapping[str, Json]
    makings: Makings
    plans: frozenset[str]


def rewrites(change: ChangeSet, steps: Sequence[Step], stage: Stage) -> Iterator[Rewrite]:
    """Yield every object that the steps would write, each once and as they would leave it, the plan first.

    `RefusedError` where a copy cannot be made of the base.
    """
    if not steps:
        return
    if change.name not in stage.plans:
        yield Rewrite(None, plan_of(change, stage.base["kind"], stage.base["apiVersion"]))
    for name, step in {step.variant: step for step in steps}.items():
        held = stage.deployments.get(name)
        if held is not None and step.verb is Verb.SWITCH:
            *templates, after = switch_objects(held, stage.makings, step.shape)
            yield from _new(templates, stage)
            yield Rewrite(held, _scaled(after, step.replicas))
            continue
        if held is not None:
            yield Rewrite(held, _scaled(held, step.replicas))
            continue
        *templates, copy = variant_objects(stage.base, stage.makings, name, step.shape)
        yield from _new(templates, stage)
        yield Rewrite(None, _scaled(copy, step.replicas))


def _new(templates: Iterable[Json], stage: Stage) -> Iterator[Rewrite]:
    for template in templates:
        if template["metadata"]["name"] not in stage.makings.templates:
            yield Rewrite(None, template)


def with_replicas_of(rewrite: Rewrite) -> Rewrite:
    """Return the rewrite of a Deployment that leaves its replicas as they are."""
    if rewrite.before is None:
        return rewrite
    return replace(rewrite, after=_scaled(dict(rewrite.after), rewrite.before["spec"].get("replicas", 1)))


def is_pointed(rewrite: Rewrite) -> bool:
    """Return whether a rewrite changes the pod template of a Deployment that is there."""
    before, after = rewrite.before, rewrite.after
    return before is not None and before["spec"].get("template") != after["spec"].get("template")


def sketches(
    change: ChangeSet, steps: Sequence[Step], standing_replicas: Mapping[str, int]
) -> Iterator[Rewrite]:
    """Yield the part of every Deployment that the steps would write, where the objects are not at hand.

    Args:
        change: What is changed.
        steps: Steps of it.
        standing_replicas: `spec.replicas` of the workload's Deployments as they stand, by name.
    """
    for name, step in {step.variant: step for step in steps}.items():
        part: Json = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name, "namespace": change.target.namespace},
        }
        before = standing_replicas.get(name)
        if step.verb is Verb.SWITCH:
            yield Rewrite(_naming(part, step.template), _naming(part, f"(one for {step.shape})"))
            continue
        yield Rewrite(
            None if before is None else _scaled({**part, "spec": {}}, before),
            _scaled({**part, "spec": {}}, step.replicas),
        )


def floor_rewrite(workload: WorkloadKey, scaler: Scaler, replicas: int) -> Rewrite:
    """Return the part of what scales a workload that a new floor writes, as it stands and as it would be."""

    def floored(fewest: int) -> Json:
        return {
            "apiVersion": scaler.api_version,
            "kind": scaler.kind,
            "metadata": {"name": scaler.name, "namespace": workload.namespace},
            "spec": {scaler.floor_field: fewest},
        }

    return Rewrite(floored(scaler.floor), floored(replicas))


def _naming(part: Json, template: str) -> Json:
    """Return the part of a Deployment that says from which template its pods get their claims."""
    pods = {"resourceClaims": [{"resourceClaimTemplateName": template}]}
    return {**part, "spec": {"template": {"spec": pods}}}


def _scaled(body: Json, replicas: int) -> Json:
    return {**body, "spec": {**body["spec"], "replicas": replicas}}
