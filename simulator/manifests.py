"""The objects that the tenants' owners wrote: a Deployment each, on whole GPUs."""

from __future__ import annotations

from actuator.mechanisms.device_plugin import resource_of
from actuator.mechanisms.dra import Ask, claim_template, request_of
from fleet.boards import Board
from fleet.shape import Shape
from fleet.workload import Workload, WorkloadKey
from simulator.api import CLAIM_TEMPLATE, DEPLOYMENT, Json

NAME_LABEL = "app.kubernetes.io/name"
"""Label that tells whose a pod is; variants copy it with the other labels."""

WHOLE_GPU = "whole-gpu"

_GRACE_S = 600
"""Longest that a pod may drain, far above any answer of the tenants.

Assumed of owners, not of Kubernetes, whose default is 30 s: where requests may last longer than it, replicas
that serve are not removed.
"""


def whole_gpu_template(namespace: str) -> Json:
    """Return the ResourceClaimTemplate for one uncut card."""
    request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.nvidia.com"}}
    return {
        "apiVersion": CLAIM_TEMPLATE.api_version,
        "kind": CLAIM_TEMPLATE.name,
        "metadata": {"name": WHOLE_GPU, "namespace": namespace},
        "spec": {"spec": {"devices": {"requests": [request]}}},
    }


def shape_template(namespace: str, board: Board, shape: Shape) -> Json:
    """Return the ResourceClaimTemplate for one shape, as an owner of claims would write it."""
    return claim_template(namespace, board, shape, Ask("gpu", request_of(board, shape)))


def deployment(
    workload: Workload, replicas: int, *, has_sleep_mode: bool = False, template: str = WHOLE_GPU
) -> Json:
    """Return the Deployment of a tenant whose replicas each make a claim from a template."""
    labels = {NAME_LABEL: workload.key.name}
    container: Json = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.12.0",
        "args": [f"--served-model-name={workload.model}"],
        "resources": {"claims": [{"name": "gpu"}]},
    }
    if has_sleep_mode:
        container["args"] = [*container["args"], "--enable-sleep-mode"]
        container["env"] = [{"name": "VLLM_SERVER_DEV_MODE", "value": "1"}]
    return {
        "apiVersion": DEPLOYMENT.api_version,
        "kind": DEPLOYMENT.name,
        "metadata": {"name": workload.key.name, "namespace": workload.key.namespace, "labels": dict(labels)},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": dict(labels)},
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": {
                    "terminationGracePeriodSeconds": _GRACE_S,
                    "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": template}],
                    "containers": [container],
                },
            },
        },
    }


def plugged_deployment(workload: Workload, shape: Shape, replicas: int) -> Json:
    """Return the Deployment of a tenant whose replicas each ask the device plugin for a shape."""
    body = deployment(workload, replicas)
    pods = body["spec"]["template"]["spec"]
    del pods["resourceClaims"]
    resource = resource_of(None if shape.is_whole else shape.profile)
    pods["containers"][0]["resources"] = {"limits": {resource: str(shape.cards)}}
    return body


def workload_of(pod: Json) -> WorkloadKey:
    """Return the workload that a pod serves."""
    return WorkloadKey(pod["metadata"]["namespace"], pod["metadata"]["labels"][NAME_LABEL])
