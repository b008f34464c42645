"""What NVIDIA's DRA driver says of any device, however a card is cut or shared.

Names and values follow kubernetes-sigs/dra-driver-nvidia-gpu, v0.5 line
(cmd/gpu-kubelet-plugin/{deviceinfo,mig,partitions}.go).
"""

from __future__ import annotations

from typing import Any

from actuator.mechanisms.dra import DRIVER
from fleet.boards import Board, Engines, Profile
from simulator.api import NODE, SLICE, Json

_VERSIONS = {"driverVersion": {"version": "580.95.5"}, "cudaDriverVersion": {"version": "13.0.0"}}
_CUDA_CAPABILITY = {
    "Volta": "7.0.0",
    "Turing": "7.5.0",
    "Ampere": "8.0.0",
    "Ampere (GA102)": "8.6.0",
    "Ada Lovelace": "8.9.0",
    "Hopper": "9.0.0",
    "Blackwell": "10.0.0",
    "Blackwell Ultra": "10.3.0",
    "Blackwell (GB202)": "12.0.0",
}
_FIRST_PCI_BUS = 0x10
_MIB_PER_GIB = 1024


def card_uuid(node: str, index: int) -> str:
    """Return the UUID of a card."""
    return f"GPU-{node}-{index}"


def instance_name(index: int, profile: Profile, start: int) -> str:
    """Return the name of a GPU instance on a card."""
    label = profile.name.replace(".", "").replace("+", "-")
    return f"gpu-{index}-mig-{label}-{profile.gi_profile_id}-{start}"


def whole_identity(node: str, index: int) -> Json:
    """Return the attributes that say which card a whole card is."""
    return {"type": {"string": "gpu"}, "uuid": {"string": card_uuid(node, index)}}


def instance_identity(node: str, index: int, profile: Profile) -> Json:
    """Return the attributes that say of which card an instance is a part, and of what kind."""
    return {
        "type": {"string": "mig"},
        "profile": {"string": profile.name},
        "parentUUID": {"string": card_uuid(node, index)},
    }


def attributes(board: Board, index: int, identity: Json) -> Json:
    """Return all attributes of a device of a card."""
    return {
        "productName": {"string": board.product_names[0]},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": board.architecture},
        "cudaComputeCapability": {"version": _CUDA_CAPABILITY[board.architecture]},
        "resource.kubernetes.io/pciBusID": {"string": f"0000:{_FIRST_PCI_BUS + index:02x}:00.0"},
        "resource.kubernetes.io/numaNode": {"int": 0},
        **_VERSIONS,
        **identity,
    }


def amounts(memory_gib: float, sm: int, engines: Engines) -> dict[str, str]:
    """Return what a device has, by the names of its capacities."""
    return {
        "memory": memory(memory_gib),
        "multiprocessors": str(sm),
        "copyEngines": str(engines.copy),
        "decoders": str(engines.decoder),
        "encoders": str(engines.encoder),
        "jpegEngines": str(engines.jpeg),
        "ofaEngines": str(engines.ofa),
    }


def memory(memory_gib: float) -> str:
    """Return memory as the API server writes it: whole GiB, else MiB."""
    memory_mib = round(memory_gib * _MIB_PER_GIB)
    gib, rest_mib = divmod(memory_mib, _MIB_PER_GIB)
    return f"{memory_mib}Mi" if rest_mib else f"{gib}Gi"


def slice_body(node: str, number: int, of: int, part: dict[str, Any]) -> Json:
    """Return one of the ResourceSlices of a node's pool; its owner's uid is still to come."""
    return {
        "apiVersion": SLICE.api_version,
        "kind": SLICE.name,
        "metadata": {
            "generateName": f"{number:05}-{DRIVER}-{node}-",
            "ownerReferences": [
                {"apiVersion": NODE.api_version, "kind": NODE.name, "name": node, "controller": True}
            ],
        },
        "spec": {
            "driver": DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": 1, "resourceSliceCount": of},
            **part,
        },
    }
