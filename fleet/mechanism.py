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
# interception and leaves compute to the driver's time slices unless gpucores is set; so does KAI in its
# mode HamiCore. A KAI fraction in the default mode (NonMemoryEnforced), a share of a DRA device and plain
# time-slicing are bookkeeping only. An MPS server is shared, by KAI's mode NvFractions too: a fatal fault
# of one client takes the others with it (CUDA MPS documentation, "Error Containment").
MECHANISMS = {
    name: Mechanism(name, isolates_memory, isolates_compute, fault_domain)
    for name, isolates_memory, isolates_compute, fault_domain in (
        ("dra", True, True, FaultDomain.INSTANCE),
        ("mig-manager", True, True, FaultDomain.INSTANCE),
        ("device-plugin", True, True, FaultDomain.INSTANCE),
        ("dra-shares", False, False, FaultDomain.GPU),
        ("kai", False, False, FaultDomain.GPU),
        ("kai-hami-core", True, False, FaultDomain.GPU),
        ("kai-nv-fractions", True, False, FaultDomain.GPU),
        ("hami", True, False, FaultDomain.GPU),
        ("time-slicing", False, False, FaultDomain.GPU),
        ("mps", True, False, FaultDomain.GPU),
    )
}

ENGINE_BUFFER = 0.10
"""Part of a share that an engine leaves free for what it does not count: contexts, kernels, fragments."""


def memory_utilization(mechanism: Mechanism, hundredths: int) -> float:
    """Return the part of the memory that an engine sees which it may take: vLLM's gpu-memory-utilization.

    Where the mechanism keeps a tenant to its memory, the engine sees its share only; else it sees the whole
    card and must keep itself to its share.

    Args:
        mechanism: How the share is made real.
        hundredths: Size of the share, in hundredths of the card.
    """
    seen = 1.0 if mechanism.isolates_memory else hundredths / 100
    return round(seen * (1 - ENGINE_BUFFER), 4)
