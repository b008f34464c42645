"""What each way of sharing a GPU really isolates."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from fleet.workload import Isolation


class FaultDomain(StrEnum):
    """What dies together when one tenant's fault is fatal."""

    INSTANCE = "instance"
    GPU = "gpu"


@dataclass(frozen=True, slots=True)
class Mechanism:
    """How a shape is made real.

    Attributes:
        name: Key used in config.
        isolates_memory: A tenant cannot take a neighbour's memory.
        isolates_compute: A tenant cannot slow a neighbour's kernels down.
        fault_domain: What a fatal fault takes with it.
    """

    name: str
    isolates_memory: bool
    isolates_compute: bool
    fault_domain: FaultDomain

    @property
    def isolation(self) -> Isolation:
        """The strongest wish that it can keep."""
        if self.isolates_memory and self.isolates_compute:
            return Isolation.HARD
        return Isolation.MEMORY if self.isolates_memory else Isolation.NONE

    def satisfies(self, wish: Isolation) -> bool:
        """Return whether a workload with this wish may be placed by it."""
        order = (Isolation.NONE, Isolation.MEMORY, Isolation.HARD)
        return order.index(self.isolation) >= order.index(wish)


# MIG instances have own memory slices, multiprocessors and L2 (MIG user guide). HAMi caps memory by
# interception and leaves compute to the driver's time slices unless gpucores is set. A KAI fraction
# and plain time-slicing are bookkeeping only. An MPS server is shared: a fatal fault of one client
# takes the others with it (CUDA MPS documentation, "Error Containment").
MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism("dra", isolates_memory=True, isolates_compute=True, fault_domain=FaultDomain.INSTANCE),
        Mechanism("mig-manager", isolates_memory=True, isolates_compute=True, fault_domain=FaultDomain.INSTANCE),
        Mechanism("device-plugin", isolates_memory=True, isolates_compute=True, fault_domain=FaultDomain.INSTANCE),
        Mechanism("kai", isolates_memory=False, isolates_compute=False, fault_domain=FaultDomain.GPU),
        Mechanism("hami", isolates_memory=True, isolates_compute=False, fault_domain=FaultDomain.GPU),
        Mechanism("time-slicing", isolates_memory=False, isolates_compute=False, fault_domain=FaultDomain.GPU),
        Mechanism("mps", isolates_memory=True, isolates_compute=False, fault_domain=FaultDomain.GPU),
    )
}
