"""Which devices could not be prepared, and are kept from everybody for a while.

Under dynamic MIG a device is a profile at a place of a card. One that its driver cannot make the scheduler's
first fit gives to the next claim again, as soon as the pod is gone that failed on it.
"""

from __future__ import annotations

from collections.abc import Iterator

from fleet.cluster import Fleet, Replica
from fleet.holds import Hold
from fleet.workload import WorkloadKey

NOBODY = WorkloadKey("foreslice", "nobody")
"""For whom they are kept: no claim tolerates that."""

PREPARED_WITHIN_S = 300.0
"""A kubelet tries again and again; volumes, which have to be there as well, attach in two minutes or less."""

BANNED_FOR_S = 3600.0
MOST = 8
"""Devices banned at the same time: where more fail, it is not the devices."""


def bans(fleet: Fleet, at_s: float) -> tuple[Hold, ...]:
    """Return every ban that there should be now, with those that are there already.

    There are none where no kubelet says that a pod's devices are there (condition PodReadyToStartContainers).
    """
    found = {hold.device: hold for hold in fleet.holds if hold.owner == NOBODY and hold.until_s > at_s}
    for replica in _unprepared(fleet, at_s):
        device = replica.device
        if device is not None and len(found) < MOST:
            purpose = f"pod {replica.pod} could not prepare it"
            found.setdefault(device.id, Hold(device.id, NOBODY, purpose, at_s + BANNED_FOR_S))
    return tuple(found.values())


def _unprepared(fleet: Fleet, at_s: float) -> Iterator[Replica]:
    """Yield the replicas that have had a device for long, and no container."""
    replicas = [r for s in fleet.standings for variant in s.variants for r in variant.replicas]
    if all(replica.prepared_at_s is None for replica in replicas):
        return
    for replica in replicas:
        since_s = replica.scheduled_at_s
        is_late = since_s is not None and at_s - since_s > PREPARED_WITHIN_S
        if is_late and replica.prepared_at_s is None and not replica.is_ready and not replica.is_leaving:
            yield replica
