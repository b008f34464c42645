"""Nodes beside their cards: the fault domain they are in, and the CPU, memory and places left for pods."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class HostAmount:
    """What pods take of a node, or a node has for them.

    Attributes:
        cpu_m: Thousandths of a core.
        memory_bytes: Bytes of memory.
        pods: Pods.
    """

    cpu_m: int = 0
    memory_bytes: int = 0
    pods: int = 0

    def __add__(self, other: HostAmount) -> HostAmount:
        return HostAmount(
            self.cpu_m + other.cpu_m, self.memory_bytes + other.memory_bytes, self.pods + other.pods
        )

    def __sub__(self, other: HostAmount) -> HostAmount:
        return HostAmount(
            self.cpu_m - other.cpu_m, self.memory_bytes - other.memory_bytes, self.pods - other.pods
        )

    def __mul__(self, times: int) -> HostAmount:
        return HostAmount(self.cpu_m * times, self.memory_bytes * times, self.pods * times)

    def lacks_for(self, asked: HostAmount) -> str:
        """Return what there is too little of for `asked`, empty = nothing.

        As kube-scheduler's fit: what is not asked for is not looked at, though it be overdrawn (kubernetes
        pkg/scheduler/framework/plugins/noderesources/fit.go, fitsRequest).
        """
        pairs = (
            ("places for pods", self.pods, asked.pods),
            ("CPU", self.cpu_m, asked.cpu_m),
            ("memory", self.memory_bytes, asked.memory_bytes),
        )
        return next((what for what, left, wanted in pairs if wanted and wanted > left), "")


NOTHING = HostAmount()


@dataclass(frozen=True, slots=True)
class Host:
    """One node.

    Attributes:
        domain: Fault domain, empty = none is known.
        free: What is left for pods, `None` = the node does not say what it has.
    """

    domain: str = ""
    free: HostAmount | None = None

    def lacks_for(self, asked: HostAmount) -> str:
        """Return what there is too little of for `asked`, empty = nothing that is known."""
        return self.free.lacks_for(asked) if self.free is not None else ""

    def without(self, asked: HostAmount) -> Host:
        """Return the node once a pod that takes so much of it is there."""
        return self if self.free is None else Host(self.domain, self.free - asked)


UNKNOWN = Host()


@dataclass(frozen=True, slots=True)
class Pods:
    """What the pods of one Deployment want beside a device.

    Attributes:
        workload: Whose they are, `None` = nobody's that is looked after.
        gathers: They prefer nodes on which copies run.
        is_spread: They prefer fault domains in which fewest of their workload run, before anything else.
        host: What each takes of its node.
        may_take_held: Their claims are given devices that are held for the workload.
        members: Pods that make one replica together, on one node or on several.
        closed: Nodes that they are not put on: by their node selector or affinity, or by taints of the nodes.
    """

    workload: WorkloadKey | None = None
    gathers: bool = False
    is_spread: bool = False
    host: HostAmount = NOTHING
    may_take_held: bool = False
    members: int = 1
    closed: frozenset[str] = frozenset()
