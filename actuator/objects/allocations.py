"""What ResourceClaims were given of NVIDIA's driver."""

from __future__ import annotations

from collections.abc import Sequence

from actuator.manifest import Json
from actuator.mechanisms.dra import DRIVER
from actuator.objects.changes import Changes
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


class AllocationReader:
    """Reads what claims hold again and again; a claim that is the same object as before is not read again."""

    def __init__(self) -> None:
        self._inventory: Inventory | None = None
        self._changes = Changes()
        self._held: dict[int, dict[DeviceId, Device]] = {}
        self._devices: tuple[Device, ...] = ()

    def read(self, claims: Sequence[Json], inventory: Inventory) -> tuple[Device, ...]:
        """Return what `allocated` returns."""
        if inventory is not self._inventory:
            self._inventory, self._changes, self._held, self._devices = inventory, Changes(), {}, ()
        gone, came = self._changes.since(claims)
        for claim in gone:
            del self._held[id(claim)]
        for claim in came:
            held = (inventory.held(result) for result in granted(claim))
            self._held[id(claim)] = {device.id: device for device in held if device is not None}
        if gone or came:
            devices: dict[DeviceId, Device] = {}
            for claim in claims:
                devices.update(self._held[id(claim)])
            self._devices = tuple(devices.values())
        return self._devices


def allocated(claims: Sequence[Json], inventory: Inventory) -> tuple[Device, ...]:
    """Return every published device, or part of one, that a claim holds, ours or foreign, each once."""
    return AllocationReader().read(claims, inventory)
