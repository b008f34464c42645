"""How a Deployment takes its pods to a changed template, and who else would change it.

Percentages and what counts as complete are the Deployment controller's own: kubernetes
pkg/controller/deployment/util/deployment_util.go (ResolveFenceposts, DeploymentComplete).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, floor

from actuator.manifest import GROUP, MANAGED_BY, Json, labels_of, version_of
from actuator.objects.writers import keepers_of_template
from fleet.rollout import NONE, Rollout

INSTEAD_OF = f"{GROUP}/instead-of"
"""Annotation of a claim template of ours: the one of the owner in whose place a Deployment names it.

It is kept there and in no plan, so that it outlives our custom resources.
"""

_DEFAULT_PART = "25%"
"""Of both surge and unavailable (apps/v1 RollingUpdateDeployment)."""


def rollout_of(deployment: Json, claim: str, templates: Mapping[str, Json]) -> Rollout:
    """Return how a Deployment's pods come to a changed template.

    Args:
        deployment: A Deployment, or another object with a pod template.
        claim: Name of the pod claim that asks for a GPU.
        templates: ResourceClaimTemplates of its namespace by name.
    """
    if deployment["kind"] != "Deployment":
        return NONE
    template = template_of(deployment["spec"]["template"]["spec"], claim)
    status: Json = deployment.get("status") or {}
    return Rollout(
        template=template,
        owners=owners_template(templates.get(template), template),
        obstacle=_obstacle(deployment, claim),
        is_running=_is_running(deployment, status),
        stuck=_stuck(status),
        version=version_of(deployment),
        min_ready_s=deployment["spec"].get("minReadySeconds", 0),
    )


def template_of(pod_spec: Json, claim: str) -> str:
    """Return the name of the template from which pods get the claim of this name, empty = from none."""
    claims: list[Json] = pod_spec.get("resourceClaims") or []
    return next((held.get("resourceClaimTemplateName") or "" for held in claims if held["name"] == claim), "")


def is_of_another(pod: Json, claim: str, template: str) -> bool:
    """Return whether a pod was made when its Deployment named another claim template."""
    return template_of(pod["spec"], claim) not in {"", template}


def owners_template(template: Json | None, name: str) -> str:
    """Return the template that the owner of a Deployment named, given the one that it names now.

    Only a template of our own making stands for another one; on any other the annotation says nothing.
    """
    if template is None or not labels_of(template).items() >= MANAGED_BY.items():
        return name
    annotations: Json = template["metadata"].get("annotations") or {}
    said: str = annotations.get(INSTEAD_OF) or name
    return said


def _missing(spec: Json) -> int:
    """Return how many of the replicas asked for may be missing during a rollout."""
    rolling: Json = (spec.get("strategy") or {}).get("rollingUpdate") or {}
    replicas = spec.get("replicas", 1)
    surge = ceil(_of(replicas, rolling.get("maxSurge", _DEFAULT_PART)))
    missing = floor(_of(replicas, rolling.get("maxUnavailable", _DEFAULT_PART)))
    return missing if surge or missing else 1


def _of(replicas: int, said: int | str) -> float:
    return int(said.removesuffix("%")) * replicas / 100 if isinstance(said, str) else said


def _obstacle(deployment: Json, claim: str) -> str:
    """Return why the template of a Deployment must not be changed, with what to do; empty = it may be."""
    name, spec = deployment["metadata"]["name"], deployment["spec"]
    strategy = (spec.get("strategy") or {}).get("type", "RollingUpdate")
    missing = _missing(spec)
    if spec.get("paused"):
        return f"rollouts of Deployment {name} are paused: kubectl rollout resume deployment/{name}"
    if strategy != "RollingUpdate":
        return f"Deployment {name} ends its pods before it makes new ones: set strategy.type to RollingUpdate"
    if missing:
        return (
            f"a rollout of Deployment {name} may take {missing} of its replicas away before new ones are "
            "ready: set strategy.rollingUpdate.maxUnavailable to 0 and maxSurge to 1 or more"
        )
    if keepers := keepers_of_template(deployment, claim):
        return (
            f"resourceClaimTemplateName of Deployment {name} is kept by {' and '.join(keepers)}: take it out "
            "of what that applies, or set `reshape: copies`"
        )
    return ""


def _is_running(deployment: Json, status: Json) -> bool:
    """Return whether a rollout is on its way, or its controller has not seen the newest template yet."""
    if status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0):
        return True
    replicas = deployment["spec"].get("replicas", 1)
    told = (status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas"))
    return any(count != replicas for count in told)


def _stuck(status: Json) -> str:
    """Return what a Deployment's controller says of a rollout that it has given up, empty = it has not."""
    conditions: list[Json] = status.get("conditions") or []
    said = next((c for c in conditions if (c["type"], c["status"]) == ("Progressing", "False")), None)
    return "" if said is None else str(said.get("message") or said.get("reason") or "it does not progress")
