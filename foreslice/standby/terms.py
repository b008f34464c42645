"""What settings say of the standby pool, and how it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleet.ledgers.beds import Bed, Measured
from fleet.shape import Shape
from fleet.standby import PoolSlice
from fleet.workload import Tier, WorkloadKey


@dataclass(frozen=True, slots=True)
class PoolTerms:
    """What the settings say of the pool.

    Attributes:
        shape: Shape of its slices.
        slices: Slices in a namespace at most.
        sleepers: Engines on one slice at most.
        host_gib: Memory of each node for sleeping weights.
        memory_gib: Memory of a slice.
        quantile: Share of the time in which the pool is to be enough.
        level: Part of what is asked for that workloads keep of their own.
        lasts_s: Use of the pool for longer than this is followed by own capacity.
        tiers: Tiers that it insures.
    """

    shape: Shape
    slices: int
    sleepers: int
    host_gib: float
    memory_gib: float
    quantile: float
    level: float
    lasts_s: float
    tiers: frozenset[Tier]


Beds = Mapping[WorkloadKey, tuple[Bed, Measured]]
"""By workload: what is reckoned with for its engine, and what engines of its model were read to take."""


@dataclass(frozen=True, slots=True)
class PoolView:
    """How the pool stands, for people.

    Attributes:
        slices: Its slices as last read.
        asks: Who asks for how many slices; who asks for none is left out.
        short: Who gets fewer than that, and by how many.
        trouble: What is wrong with it, one line each.
        beds: What the engines of workloads take.
    """

    slices: tuple[PoolSlice, ...] = ()
    asks: Mapping[WorkloadKey, int] = field(default_factory=dict)
    short: Mapping[WorkloadKey, int] = field(default_factory=dict)
    trouble: tuple[str, ...] = ()
    beds: Beds = field(default_factory=dict)

    @property
    def beds_in_use(self) -> Beds:
        """The same of workloads that have an engine in the pool."""
        here = {each.workload for pool in self.slices for each in pool.sleepers}
        return {key: bed for key, bed in self.beds.items() if key in here}
