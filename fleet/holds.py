"""Room that is kept for one workload: devices on which new claims of others are not placed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from fleet.devices import DeviceId
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Hold:
    """One device that is kept; whoever runs on it goes on.

    Attributes:
        device: Which.
        owner: For whom.
        purpose: What for, one clause.
        until_s: When it ends by itself, seconds since the epoch.
        uid: Which object of the cluster it is, empty before it is one.
        name: Name of that object, likewise.
    """

    device: DeviceId
    owner: WorkloadKey
    purpose: str
    until_s: float
    uid: str = field(default="", compare=False)
    name: str = field(default="", compare=False)


def kept_from(owner: WorkloadKey | None, holds: Iterable[Hold]) -> frozenset[DeviceId]:
    """Return the devices that new claims of a workload are not given; of nobody in particular, all."""
    return frozenset(hold.device for hold in holds if hold.owner != owner)
