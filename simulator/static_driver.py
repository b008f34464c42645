"""The DRA driver of NVIDIA's GPUs without dynamic MIG: cards as they are cut, alone or shared.

Follows kubernetes-sigs/dra-driver-nvidia-gpu, v0.5 line: what MIG instances exist when the driver starts, and
whole cards where MIG mode is off, in one slice and without counters (cmd/gpu-kubelet-plugin/mig.go). With
its gate ConsumableShares several claims may use one device (consumable_shares.go); nothing then keeps
their memory apart but the engines themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fleet.boards import Board
from fleet.mig import Placement, illegality
from simulator.api import Json
from simulator.devices import (
    amounts,
    attributes,
    instance_identity,
    instance_name,
    memory,
    slice_body,
    whole_identity,
)
from simulator.errors import NotModelledError

_DEVICES_MAX = 128
"""Devices in a slice (k8s.io/api resource/v1 ResourceSliceMaxDevices)."""


@dataclass(frozen=True, slots=True)
class Card:
    """A card as the driver finds it.

    Attributes:
        board: Its product.
        layout: Instances in the order in which the driver lists them; `None` while MIG mode is off. A card
            in MIG mode that has no instance is not announced.
    """

    board: Board
    layout: tuple[Placement, ...] | None = None


@dataclass(frozen=True, slots=True)
class Sharing:
    """How claims share devices.

    Attributes:
        is_whole_default: A claim that names no memory gets all of it, instead of none.
        shares: Shares of a device, of which a claim gets one if it names no number; `None`: not counted.
    """

    is_whole_default: bool = False
    shares: int | None = None


BY_MEMORY = Sharing(is_whole_default=True)
UNLIMITED = Sharing()


def static_slices(node: str, cards: Sequence[Card], sharing: Sharing | None = None) -> list[Json]:
    """Return the only ResourceSlice of a node with these cards, in order of card index.

    Raises `NotModelledError` for a layout that no card can have, and for more devices than a slice holds.
    """
    devices = [device for index, card in enumerate(cards) for device in _devices(node, index, card)]
    if len(devices) > _DEVICES_MAX:
        raise NotModelledError(f"{len(devices)} devices on one node")
    if sharing is not None:
        devices = [_shared(device, sharing) for device in devices]
    return [slice_body(node, 0, 1, {"devices": devices})]


def _devices(node: str, index: int, card: Card) -> Iterator[Json]:
    board = card.board
    if card.layout is None:
        capacity = {"memory": memory(board.memory_gib)}
        yield _device(f"gpu-{index}", attributes(board, index, whole_identity(node, index)), capacity)
        return
    if broken := illegality(board, card.layout):
        raise NotModelledError(broken)
    for number, placement in enumerate(card.layout):
        profile = board.profile(placement.profile)
        identity = instance_identity(node, index, profile)
        identity["uuid"] = {"string": f"MIG-{node}-{index}-{number}"}
        covered = range(placement.start, placement.start + profile.memory_slices)
        capacity = amounts(profile.memory_gib, profile.sm, profile.engines)
        capacity |= {f"memorySlice{unit}": "1" for unit in covered}
        name = instance_name(index, profile, placement.start)
        yield _device(name, attributes(board, index, identity), capacity)


def _device(name: str, held: Json, capacity: dict[str, str]) -> Json:
    values = {key: {"value": amount} for key, amount in capacity.items()}
    return {"name": name, "attributes": held, "capacity": values}


def _shared(device: Json, sharing: Sharing) -> Json:
    """Return a device that claims may share; capacities without a policy make it exclusive all the same."""
    whole = device["capacity"]["memory"]["value"]
    capacity = {**device["capacity"], "memory": _policed(whole, whole, "1Mi", "1Mi")}
    if not sharing.is_whole_default:
        capacity["memory"] = _policed(whole, "0", "0", "1Mi")
    if sharing.shares is not None:
        capacity["shares"] = _policed(str(sharing.shares), "1", "1", "1")
    return {**device, "capacity": capacity, "allowMultipleAllocations": True}


def _policed(value: str, default: str, least: str, step: str) -> Json:
    """Return a capacity of which claims consume what they ask for, in steps."""
    return {
        "value": value,
        "requestPolicy": {"default": default, "validRange": {"min": least, "max": value, "step": step}},
    }
