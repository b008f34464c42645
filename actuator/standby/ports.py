"""What the standby pool asks of a cluster and of engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from fleet.ledgers.beds import Measured
from fleet.shape import Shape
from fleet.standby import EngineState, Hold, PoolSlice, Sleeper
from fleet.workload import WorkloadKey


class Dormitory(Protocol):
    """The pool's objects. Verbs may raise `UnavailableError`, writes `ConflictError` or `RefusedError`."""

    def slices(self, namespace: str) -> Sequence[PoolSlice]:
        """Return the slices of a namespace as they stand, by name; never from a cache."""
        ...

    def objection(self, workload: WorkloadKey) -> str:
        """Return why a workload cannot join, one line; empty = it can."""
        ...

    def add(self, namespace: str, name: str, shape: Shape) -> None:
        """Create a slice; existing = no change."""
        ...

    def drop(self, pool: PoolSlice) -> None:
        """Delete a slice without standby pods, as of its version."""
        ...

    def hold(self, pool: PoolSlice, hold: Hold | None, barred: Mapping[WorkloadKey, float]) -> None:
        """Write whose turn a slice is and who is left alone, as of its version."""
        ...

    def note(self, pool: PoolSlice, taken: Mapping[WorkloadKey, Measured]) -> None:
        """Write what engines were read to take while they slept on a slice, as of its version."""
        ...

    def board(self, pool: PoolSlice, workload: WorkloadKey) -> None:
        """Create the standby pod of a workload on a slice; existing = no change."""
        ...

    def remove(self, pool: PoolSlice, sleeper: Sleeper) -> None:
        """End a standby pod."""
        ...

    def turn(self, pool: PoolSlice, sleeper: Sleeper, *, is_open: bool, at_s: float) -> None:
        """Open or close a pod's gate, as of the version of the pod that the slice was read with."""
        ...


class Doors(Protocol):
    """The engines' own endpoints. A call that is not answered in time says nothing and does no harm."""

    def state(self, sleeper: Sleeper) -> EngineState:
        """Return what an engine says of itself."""
        ...

    def is_idle(self, sleeper: Sleeper) -> bool:
        """Return whether an engine says that it has nothing in service; silence is no."""
        ...

    def sleep(self, sleeper: Sleeper) -> None:
        """Ask an engine to sleep, and do not wait for it."""
        ...

    def wake(self, sleeper: Sleeper) -> None:
        """Ask an engine to wake, and do not wait for it."""
        ...
