"""What is kept from one view of the cluster to the next, so that what did not change is not read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from actuator.objects.allocations import AllocationReader
from actuator.objects.history import PlanReader
from actuator.objects.hosts import HostReader
from actuator.objects.indexed import Indexed
from actuator.objects.kept import Kept
from actuator.objects.slices import SliceReader
from fleet.cluster import Standing
from fleet.workload import WorkloadKey

Parts = tuple[object, ...]
"""All that something is read from: equal parts, equal reading."""


KEPT_TURNS = 100
"""Turns for which a workload is kept that nobody asks for: most turns ask for a few of many."""


Read = TypeVar("Read")


class StandingReader(Generic[Read]):
    """Reads standings again and again; what did not change since the last time costs little."""

    def __init__(self) -> None:
        self._around: Parts = ()
        self._turns = 0
        self._read: dict[WorkloadKey, tuple[int, Parts, Read]] = {}

    def turn(self, around: Parts) -> None:
        """Forget all where what every standing depends on is not what it was, and who is not asked for."""
        self._turns += 1
        if around != self._around:
            self._around = around
            self._read.clear()
        if self._turns % KEPT_TURNS == 0:
            lately = self._turns - KEPT_TURNS
            self._read = {key: held for key, held in self._read.items() if held[0] >= lately}

    def read(self, key: WorkloadKey, parts: Parts, make: Callable[[], Read]) -> Read:
        """Return what is made of these parts of a workload: the last time if they are the same."""
        held = self._read.get(key)
        standing = held[2] if held is not None and held[1] == parts else make()
        self._read[key] = self._turns, parts, standing
        return standing


@dataclass(frozen=True, slots=True)
class Readers:
    """The readers of one cluster, one for each kind of thing.

    Attributes:
        kept: What was last made of whole lists.
        indexed: Objects by what they are looked up by.
        hosts: What nodes have left.
        holdings: What claims hold.
        slices: What the driver publishes.
        plans: What plans say.
        standings: Workloads as their objects have them.
        dated: The same with what plans say of them.
    """

    kept: Kept = field(default_factory=Kept)
    indexed: Indexed = field(default_factory=Indexed)
    hosts: HostReader = field(default_factory=HostReader)
    holdings: AllocationReader = field(default_factory=AllocationReader)
    slices: SliceReader = field(default_factory=SliceReader)
    plans: PlanReader = field(default_factory=PlanReader)
    standings: StandingReader[Standing | None] = field(default_factory=StandingReader)
    dated: StandingReader[Standing] = field(default_factory=StandingReader)
