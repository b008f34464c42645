"""What is kept from one view of the cluster to the next, so that what did not change is not read again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: where an object cannot be read, what was kept up may be so by halves."""
        self.kept = Kept()
        self.indexed = Indexed()
        self.hosts = HostReader()
        self.holdings = AllocationReader()
        self.slices = SliceReader()
        self.plans = PlanReader()
        self.standings: StandingReader[Standing | None] = StandingReader()
        self.dated: StandingReader[Standing] = StandingReader()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Forget everything if what is done meanwhile fails, so that it fails again the next time."""
        try:
            yield
        except BaseException:
            self.forget()
            raise
