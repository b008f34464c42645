"""The standby pool that settings describe, on the adapters that they choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from actuator.standby.engines import SleepingEngine, sleeping_engines
from actuator.standby.http import HttpDoors
from actuator.standby.keeper import Keeper
from actuator.standby.objects import ObjectDormitory, Objects
from actuator.standby.ports import Doors
from capacity.catalogue import ModelSpec
from capacity.prior import MEMORY_UTILISATION
from fleet.boards import Board
from fleet.errors import UnavailableError
from fleet.ledgers.beds import Bed, share_for_one_awake
from fleet.standby import Sleeper
from fleet.workload import Workload
from foreslice.standby.memory import Memory
from foreslice.standby.pool import Standby
from foreslice.standby.terms import PoolTerms
from predictor.ports import MemorySource
from simulator.standby import PoolObjects
from simulator.world import World

_GIB = 1 << 30

Ports = tuple[Objects, Callable[[SleepingEngine], Doors], MemorySource | None]
"""Objects of a cluster, what makes doors to engines of a kind, and where memory is read, `None` = nowhere."""


def standby_of(
    terms: PoolTerms,
    engine: str,
    ports: Ports,
    boards: Sequence[Board],
    workloads: Sequence[Workload],
    models: Mapping[str, ModelSpec],
) -> Standby:
    """Return the pool on these adapters: objects, what makes doors to engines, and memory."""
    objects, doors, source = ports
    sleeping = sleeping_engines()[engine]
    share = share_of(terms)

    def bed(workload: Workload) -> Bed:
        return Bed(share * terms.memory_gib, models[workload.model].weight_bytes / _GIB)

    dormitory = ObjectDormitory(objects, boards, sleeping, share)
    memory = Memory(source, dormitory) if source is not None else None
    return Standby(terms, Keeper(dormitory, doors(sleeping)), workloads, bed, memory)


def simulated(world: World) -> Ports:
    """Return what a pool is made of in a simulated world."""
    return PoolObjects(world.store), lambda _: world.sleep, world.sleep


def share_of(terms: PoolTerms) -> float:
    """Return the share of a slice's memory that the engine awake may take: others' contexts lie beside it."""
    return min(MEMORY_UTILISATION, share_for_one_awake(terms.memory_gib, terms.sleepers))


class HttpDoorsOnce:
    """Makes doors to engines at the addresses of their pods, once for each kind. Close it in the end.

    Args:
        fence: Asked right before an engine is told anything.
        token: File with the bearer token that engines want, `None` = they want none.
    """

    def __init__(self, fence: Callable[[], object], token: Path | None) -> None:
        self._fence = fence
        self._token = token
        self._made: dict[str, HttpDoors] = {}

    def __call__(self, engine: SleepingEngine) -> HttpDoors:
        """Return the doors to engines of a kind; settings that are taken up anew find them open."""
        if engine.title not in self._made:

            def url(sleeper: Sleeper) -> str:
                host = f"[{sleeper.address}]" if ":" in sleeper.address else sleeper.address
                return f"http://{host}:{sleeper.port or engine.port}" if host else ""

            self._made[engine.title] = HttpDoors(engine, url, self._fence, self._read)
        return self._made[engine.title]

    def close(self) -> None:
        """End all connections."""
        for doors in self._made.values():
            doors.close()

    def _read(self) -> str | None:
        if self._token is None:
            return None
        try:
            return self._token.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UnavailableError(f"standby.token_file: {error.strerror}") from error
