"""What ResourceClaims were given of NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Iterable

from actuator.manifest import Json
from actuator.mechanisms.dra import DRIVER
from actuator.objects.slices import Inventory
from fleet.devices import Device, DeviceId


def results_of(claim: Json) -> list[Json]:
    """Return what is allocated to a claim, of whatever driver."""
    allocation: Json = (claim.get("status") or {}).get("allocation") or {}
    results: list[Json] = (allocation.get("devices") or {}).get("results") or []
    return results


def granted(claim: Json) -> list[Json]:
    """Return what NVIDIA's driver has allocated to a claim; admin access takes nothing."""
    return [
        result for result in results_of(claim) if result["driver"] == DRIVER and not result.get("adminAccess")
    ]


def allocated_ids(claim: Json) -> list[DeviceId]:
    """Return the devices of NVIDIA's driver of which a claim has at least a part."""
    return [(result["pool"], result["device"]) for result in granted(claim)]


def allocated(claims: Iterable[Json], inventory: Inventory) -> tuple[Device, ...]:
    """Return every published device, or part of one, that a claim holds, ours or foreign, each once."""
    found = (inventory.held(result) for claim in claims for result in granted(claim))
    return tuple({device.id: device for device in found if device is not None}.values())
