"""What trials have found out about pools, so that what is full is searched once and not by every workload."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from fleet.devices import DeviceId, DeviceRequest, Pool
from fleet.host import HostAmount

Ask = tuple[DeviceRequest, frozenset[DeviceId]] | HostAmount
"""What a pod asks of devices, with those that are held for others, or of its node."""


@dataclass(frozen=True, slots=True)
class Full:
    """Pools without room, as far as is known: it saves searches and changes no answer.

    Room only shrinks, so what is full stays full in whatever is left of it.

    Attributes:
        known: Names of pools by what is asked; grows with every trial, also with those that are not kept.
    """

    known: dict[Ask, frozenset[str]] = field(default_factory=dict)

    def of(self, ask: Ask) -> frozenset[str]:
        """Return the names of the pools that are known to be full."""
        return self.known.get(ask, frozenset())

    def after(self, found: Mapping[Ask, Iterable[Pool]], used: Collection[str]) -> Full:
        """Return what is known after a trial that found pools full; of nodes that it used, only then."""
        for ask, pools in found.items():
            self.known[ask] = self.of(ask).union(pool.name for pool in pools if pool.node not in used)
        then = {ask: self.of(ask).union(pool.name for pool in pools) for ask, pools in found.items()}
        return Full(self.known | then)
