"""What agents read from ResourceClaims."""

from __future__ import annotations

from collections.abc import Sequence

from actuator.mechanisms.dra import DRIVER
from fleet.devices import DeviceId
from simulator.api import Json

DELETE_PROTECTION = "resource.kubernetes.io/delete-protection"
"""Finalizer that a claim carries while it is allocated."""

POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""Annotation of a claim made from a template: the name by which its pod calls it."""


def allocated(claim: Json) -> Sequence[DeviceId]:
    """Return the GPU devices that a claim holds."""
    allocation = claim.get("status", {}).get("allocation", {})
    results = allocation.get("devices", {}).get("results", ())
    return [(result["pool"], result["device"]) for result in results if result["driver"] == DRIVER]
