"""Kubernetes objects with sane defaults, for tests of what reads and writes them."""

import copy
import json
from functools import cache
from pathlib import Path

import yaml

from actuator.manifest import VARIANT_LABEL

OBSERVED = Path(__file__).parents[1] / "data/nvidia-dra"
EPOCH = "2026-01-01T00:00:00Z"


@cache
def _documents(name):
    return list(yaml.safe_load_all((OBSERVED / f"{name}.yaml").read_text()))


def observed(name):
    """Documents of one observed file, named and versioned as the API server would."""
    documents = copy.deepcopy(_documents(name))
    for number, body in enumerate(documents):
        meta = body.setdefault("metadata", {})
        meta["name"] = f"{meta.get('generateName', 'object-')}{number:05d}"
        meta["resourceVersion"] = str(number + 1)
    return documents


def h100_slices(node="node-h100-dynamic", gpus=1):
    """Slices of a node of H100 with dynamic MIG, counters first, after the observed one-card node."""
    counters, devices = observed("slices-h100-dynamic-mig")
    [card_counters] = counters["spec"]["sharedCounters"]
    cards = range(gpus)
    counters["spec"]["sharedCounters"] = [{**card_counters, "name": f"gpu-{i}-counter-set"} for i in cards]
    bodies = [counters, *(_renamed(devices, i) for i in cards)]
    for number, body in enumerate(bodies):
        body["metadata"].update(name=f"{number:05d}-gpu.nvidia.com-{node}", resourceVersion="1")
        body["spec"]["pool"].update(name=node, resourceSliceCount=len(bodies))
        body["spec"]["nodeName"] = node
    return json.loads(json.dumps(bodies).replace("GPU-node-h100-dynamic", f"GPU-{node}"))


def _renamed(devices, index):
    return json.loads(
        json.dumps(devices).replace("gpu-0", f"gpu-{index}").replace("dynamic-0", f"dynamic-{index}")
    )


def request(device_class="mig.nvidia.com", profile="3g.40gb", name="gpu", **more):
    selectors = (
        [] if profile is None else [cel(f"device.attributes['gpu.nvidia.com'].profile == '{profile}'")]
    )
    return {"name": name, "exactly": {"deviceClassName": device_class, "selectors": selectors, **more}}


def cel(expression):
    return {"cel": {"expression": expression}}


def claim_spec(*requests, **devices):
    return {"devices": {"requests": list(requests), **devices}}


def template(name, spec=None, namespace="llm"):
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"spec": claim_spec(request()) if spec is None else spec},
    }


def deployment(name="llama", template_name="mig-3g", replicas=1, namespace="llm", **meta):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            **meta,
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name, "team": "search"}},
                "spec": {
                    "containers": [
                        {"name": "vllm", "resources": {"claims": [{"name": "gpus", "request": "gpu"}]}}
                    ],
                    "resourceClaims": [{"name": "gpus", "resourceClaimTemplateName": template_name}],
                },
            },
        },
    }


def pod(
    name,
    app="llama",
    variant=None,
    *,
    ready=True,
    leaving=False,
    namespace="llm",
    claim=None,
    phase="Running",
):
    meta = {"name": name, "namespace": namespace, "creationTimestamp": EPOCH}
    meta["labels"] = {"app": app, **({} if variant is None else {VARIANT_LABEL: variant})}
    if leaving:
        meta["deletionTimestamp"] = EPOCH
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta,
        "spec": {},
        "status": {
            "phase": phase,
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": claim or f"{name}-gpus"}],
        },
    }


def claim(name, device=None, pool="node-h100-dynamic", namespace="llm", driver="gpu.nvidia.com", **result):
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace},
        "spec": claim_spec(request()),
    }
    if device is not None:
        held = {"request": "gpu", "driver": driver, "pool": pool, "device": device, **result}
        body["status"] = {"allocation": {"devices": {"results": [held]}}}
    return body
