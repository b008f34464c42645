"""How a pod is given its share of a GPU, read from what it asks for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from actuator.manifest import Json
from actuator.mechanisms.dra import SHARES, asks_gpu, asks_part

_HAMI = ("nvidia.com/gpumem", "nvidia.com/gpumem-percentage", "nvidia.com/gpucores", "nvidia.com/vgpu")
_DEVICE_PLUGIN = re.compile(r"nvidia\.com/(gpu|mig-[^/]+)")
_KAI = re.compile(r"gpu-fraction|gpu-memory|nvidia\.com/container\..+\.gpu-memory\.(request|limit)")


@dataclass(frozen=True, slots=True)
class Grant:
    """What one pod asks for.

    Attributes:
        mechanism: Key of `fleet.mechanism.MECHANISMS`.
        asks: In the words of the manifest, such as `gpu-fraction: 0.5`.
    """

    mechanism: str
    asks: str


def grant_of(template: Json, claim_templates: Mapping[str, Json]) -> Grant | None:
    """Return how the pods of a template get their GPU, `None` where they ask for none.

    What a sharing system adds comes before the plain resource that it also asks for: a pod under HAMi has
    `nvidia.com/gpu` too. Sources: KAI-Scheduler docs/gpu-sharing, HAMi pkg/device/nvidia/device.go,
    k8s-device-plugin README.

    Args:
        template: A pod, or a pod template: metadata and spec.
        claim_templates: ResourceClaimTemplates of its namespace by name.
    """
    annotations = (template.get("metadata") or {}).get("annotations") or {}
    resources = resources_asked(template["spec"])
    claims = [
        name
        for claim in template["spec"].get("resourceClaims") or []
        if (name := claim.get("resourceClaimTemplateName", "")) in claim_templates
        and asks_gpu(claim_templates[name]["spec"]["spec"])
    ]
    fractions = {key: value for key, value in annotations.items() if _KAI.fullmatch(key)}
    if fractions:
        return Grant("kai", _said(fractions))
    if hami := {name: amount for name, amount in resources.items() if name in _HAMI}:
        return Grant("hami", _said({**resources, **hami}))
    if claims:
        spec = claim_templates[claims[0]]["spec"]["spec"]
        return Grant(SHARES if asks_part(spec) else "dra", _said({"ResourceClaimTemplate": claims[0]}))
    if shared := {name: amount for name, amount in resources.items() if name.endswith(".shared")}:
        return Grant("time-slicing", _said(shared))
    if resources:
        return Grant("device-plugin", _said(resources))
    return None


def is_card(resource: str) -> bool:
    """Return whether a resource is one of NVIDIA's device plugin: cards, MIG devices, or either shared."""
    return _DEVICE_PLUGIN.fullmatch(resource.removesuffix(".shared")) is not None


def resources_asked(spec: Json) -> dict[str, str]:
    """Return what a pod's containers ask of NVIDIA's and HAMi's resources; of both, limits count."""
    found = {}
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        asked = container.get("resources") or {}
        for name, amount in {**(asked.get("requests") or {}), **(asked.get("limits") or {})}.items():
            if name in _HAMI or is_card(name):
                found[name] = str(amount)
    return found


def _said(asked: Mapping[str, str]) -> str:
    return ", ".join(f"{name}: {amount}" for name, amount in asked.items())
