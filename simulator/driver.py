"""The DRA driver of NVIDIA's GPUs with dynamic MIG: what it publishes for the cards of one node.

Follows the driver's own output (kubernetes-sigs/dra-driver-nvidia-gpu, v0.5 line, gate DynamicMIG): all
counter sets of a node in a first slice, then one slice of devices per card, by name. A whole card
and each of its possible instances draw from the card's counters, so the scheduler allocates only what
can exist together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from actuator.mechanisms.dra import DRIVER
from fleet.boards import Board, Engines, Profile
from simulator.api import NODE, SLICE, Api, Json
from simulator.errors import NotModelledError

# The API allows eight counter sets in a slice (k8s.io/api resource/v1 ResourceSliceMaxSharedCounters), and
# the driver makes one counter slice per node.
_CARDS_MAX = 8
_VERSIONS = {"driverVersion": {"version": "580.95.5"}, "cudaDriverVersion": {"version": "13.0.0"}}
_CUDA_CAPABILITY = {"Ampere": "8.0.0", "Hopper": "9.0.0"}
_FIRST_PCI_BUS = 0x10
_MIB_PER_GIB = 1024


def publish(api: Api, node: str, boards: Sequence[Board]) -> None:
    """Publish the cards of a node, which must exist; `NotModelledError` for more than eight cards."""
    owner = api.get(NODE, None, node)
    if owner is None:
        raise NotModelledError(f"a driver on node {node}, which is not registered")
    for body in resource_slices(node, boards):
        body["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
        api.create(body)


def resource_slices(node: str, boards: Sequence[Board]) -> list[Json]:
    """Return the ResourceSlices of a node with one card of each of `boards`, in order of card index."""
    if len(boards) > _CARDS_MAX:
        raise NotModelledError(f"{len(boards)} cards with dynamic MIG on one node")
    cards = list(enumerate(boards))
    parts = [{"sharedCounters": [_counter_set(index, board) for index, board in cards]}]
    parts += [{"devices": list(_devices(node, index, board))} for index, board in cards]
    return [_slice(node, number, len(parts), part) for number, part in enumerate(parts)]


def card_uuid(node: str, index: int) -> str:
    """Return the UUID of a card."""
    return f"GPU-{node}-{index}"


def _slice(node: str, number: int, of: int, part: Json) -> Json:
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


def _counter_set(index: int, board: Board) -> Json:
    return {"name": _counter_set_name(index), "counters": _counters(_whole(board), range(board.grid))}


def _devices(node: str, index: int, board: Board) -> Iterator[Json]:
    """Yield what a card can be, by name. Only boards that toggle MIG mode at will offer themselves whole."""
    instances = {
        _instance_name(index, profile, start): (profile, start)
        for profile in board.profiles
        for start in profile.starts
    }
    if board.resetless_mig_toggle:
        identity = {"type": {"string": "gpu"}, "uuid": {"string": card_uuid(node, index)}}
        yield _device(f"gpu-{index}", index, board, identity, _whole(board), range(board.grid))
    for name, (profile, start) in sorted(instances.items()):
        identity = {
            "type": {"string": "mig"},
            "profile": {"string": profile.name},
            "parentUUID": {"string": card_uuid(node, index)},
        }
        covered = range(start, start + profile.memory_slices)
        yield _device(name, index, board, identity, _amounts(profile), covered)


def _device(
    name: str, index: int, board: Board, identity: Json, amounts: dict[str, str], covered: range
) -> Json:
    attributes = {
        "productName": {"string": board.product_names[0]},
        "brand": {"string": "Nvidia"},
        "architecture": {"string": board.architecture},
        "cudaComputeCapability": {"version": _CUDA_CAPABILITY[board.architecture]},
        "resource.kubernetes.io/pciBusID": {"string": f"0000:{_FIRST_PCI_BUS + index:02x}:00.0"},
        "resource.kubernetes.io/numaNode": {"int": 0},
        **_VERSIONS,
        **identity,
    }
    return {
        "name": name,
        "attributes": attributes,
        "capacity": {key: {"value": amount} for key, amount in amounts.items()},
        "consumesCounters": [
            {"counterSet": _counter_set_name(index), "counters": _counters(amounts, covered)}
        ],
    }


def _counter_set_name(index: int) -> str:
    return f"gpu-{index}-counter-set"


def _instance_name(index: int, profile: Profile, start: int) -> str:
    label = profile.name.replace(".", "").replace("+", "-")
    return f"gpu-{index}-mig-{label}-{profile.gi_profile_id}-{start}"


def _amounts(profile: Profile) -> dict[str, str]:
    return _quantities(profile.memory_gib, profile.sm, profile.engines)


def _whole(board: Board) -> dict[str, str]:
    """With dynamic MIG a card is published as large as the largest of its instances in every respect."""
    engines = [profile.engines for profile in board.profiles]
    return _quantities(
        max(profile.memory_gib for profile in board.profiles),
        max(profile.sm for profile in board.profiles),
        Engines(
            copy=max(each.copy for each in engines),
            decoder=max(each.decoder for each in engines),
            encoder=max(each.encoder for each in engines),
            jpeg=max(each.jpeg for each in engines),
            ofa=max(each.ofa for each in engines),
        ),
    )


def _quantities(memory_gib: float, sm: int, engines: Engines) -> dict[str, str]:
    memory_mib = round(memory_gib * _MIB_PER_GIB)
    gib, rest_mib = divmod(memory_mib, _MIB_PER_GIB)
    return {
        "memory": f"{memory_mib}Mi" if rest_mib else f"{gib}Gi",
        "multiprocessors": str(sm),
        "copyEngines": str(engines.copy),
        "decoders": str(engines.decoder),
        "encoders": str(engines.encoder),
        "jpegEngines": str(engines.jpeg),
        "ofaEngines": str(engines.ofa),
    }


def _counters(amounts: dict[str, str], covered: range) -> Json:
    """Counters have the names of the capacities, hyphenated, and one more for each memory slice."""
    counters = {key.replace("Engines", "-engines"): {"value": amount} for key, amount in amounts.items()}
    return counters | {f"memory-slice-{unit}": {"value": "1"} for unit in covered}
