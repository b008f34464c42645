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
    name: Mechanism(name, isolates_memory, isolates_compute, fault_domain)
    for name, isolates_memory, isolates_compute, fault_domain in (
        ("dra", True, True, FaultDomain.INSTANCE),
        ("mig-manager", True, True, FaultDomain.INSTANCE),
        ("device-plugin", True, True, FaultDomain.INSTANCE),
        ("kai", False, False, FaultDomain.GPU),
        ("hami", True, False, FaultDomain.GPU),
        ("time-slicing", False, False, FaultDomain.GPU),
        ("mps", True, False, FaultDomain.GPU),
    )
}
