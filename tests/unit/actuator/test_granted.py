"""How a pod is given its GPU is read from what it asks for, whoever shares the cards."""

import pytest

from actuator.objects.granted import Grant, grant_of
from tests.fakes.manifests import claim_spec, request, template

CLAIMS = {
    "mig-3g": template("mig-3g"),
    "nic": template("nic", claim_spec(request("nic.example.com", None))),
}


def pod(limits=None, annotations=None, claims=(), requests=None):
    """A pod template; `limits` are those of its first container."""
    return {
        "metadata": {"annotations": annotations or {}},
        "spec": {
            "containers": [
                {"name": "engine", "resources": {"limits": limits or {}, "requests": requests or {}}}
            ],
            "resourceClaims": [{"name": "r", "resourceClaimTemplateName": name} for name in claims],
        },
    }


@pytest.mark.parametrize(
    ("mechanism", "asks", "given"),
    [
        ("dra", "ResourceClaimTemplate: mig-3g", {"claims": ["mig-3g"]}),
        ("dra", "ResourceClaimTemplate: mig-3g", {"claims": ["nic", "mig-3g"]}),
        ("kai", "gpu-fraction: 0.5", {"annotations": {"gpu-fraction": "0.5"}}),
        ("kai", "gpu-memory: 2000", {"annotations": {"gpu-memory": "2000", "other": "x"}}),
        (
            "kai",
            "nvidia.com/container.engine.gpu-memory.request: 8Gi",
            {"annotations": {"nvidia.com/container.engine.gpu-memory.request": "8Gi"}},
        ),
        (
            "hami",
            "nvidia.com/gpu: 1, nvidia.com/gpumem: 8000",
            {"limits": {"nvidia.com/gpu": 1, "nvidia.com/gpumem": "8000"}},
        ),
        ("hami", "nvidia.com/vgpu: 1", {"limits": {"nvidia.com/vgpu": "1"}}),
        ("time-slicing", "nvidia.com/gpu.shared: 1", {"limits": {"nvidia.com/gpu.shared": "1"}}),
        (
            "time-slicing",
            "nvidia.com/mig-1g.10gb.shared: 1",
            {"limits": {"nvidia.com/mig-1g.10gb.shared": 1}},
        ),
        ("device-plugin", "nvidia.com/gpu: 2", {"limits": {"cpu": "4", "nvidia.com/gpu": "2"}}),
        ("device-plugin", "nvidia.com/mig-3g.40gb: 1", {"requests": {"nvidia.com/mig-3g.40gb": "1"}}),
    ],
)
def test_each_mechanism_has_its_way_of_asking(mechanism, asks, given):
    assert Grant(mechanism, asks) == grant_of(pod(**given), CLAIMS)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"limits": {"cpu": "1", "nvidia.com/nvlink": "1", "amd.com/gpu": "1"}},
        {"claims": ["nic"]},
        {"claims": ["gone"]},
        {"annotations": {"gpu-fraction-num-devices": "2"}},
    ],
)
def test_what_asks_for_no_gpu_has_no_grant(given):
    assert grant_of(pod(**given), CLAIMS) is None


def test_init_containers_hold_gpus_too_and_metadata_may_be_missing():
    asking = {"name": "warm", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    spec = {"initContainers": [asking], "containers": [{"name": "engine"}]}
    assert Grant("device-plugin", "nvidia.com/gpu: 1") == grant_of({"spec": spec}, {})
