"""What is kept from one view of the cluster to the next, so that what did not change is not read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from actuator.objects.history import PlanReader
from actuator.objects.kept import Kept
from actuator.objects.slices import SliceReader
from fleet.cluster import Standing
from fleet.workload import WorkloadKey

Parts = tuple[object, ...]
"""All that something is read from: equal parts, equal reading."""


class StandingReader:
    """Reads standings again and again; what did not change since the last time costs little."""

    def __init__(self) -> None:
        self._around: Parts = ()
        self._read: dict[WorkloadKey, tuple[Parts, Standing | None]] = {}

    def turn(self, around: Parts) -> None:
        """Forget all where what every standing depends on is not what it was."""
        if around != self._around:
            self._around = around
            self._read.clear()

    def read(self, key: WorkloadKey, parts: Parts, make: Callable[[], Standing | None]) -> Standing | None:
        """Return what is made of these parts of a workload: the last time if they are the same."""
        held = self._read.get(key)
        if held is None or held[0] != parts:
            held = self._read[key] = parts, make()
        return held[1]


@dataclass(frozen=True, slots=True)
class Readers:
    """The readers of one cluster, one for each kind of thing."""

    kept: Kept = field(default_factory=Kept)
    slices: SliceReader = field(default_factory=SliceReader)
    plans: PlanReader = field(default_factory=PlanReader)
    standings: StandingReader = field(default_factory=StandingReader)
