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
from foreslice.standby.pool import Standby
from foreslice.standby.terms import PoolTerms

_GIB = 1 << 30

Made = Callable[[SleepingEngine], Doors]


def standby_of(
    terms: PoolTerms,
    engine: str,
    ports: tuple[Objects, Made],
    boards: Sequence[Board],
    workloads: Sequence[Workload],
    models: Mapping[str, ModelSpec],
) -> Standby:
    """Return the pool on these adapters: the objects of a cluster, and what makes doors to an engine."""
    objects, doors = ports
    sleeping = sleeping_engines()[engine]
    share = share_of(terms)

    def bed(workload: Workload) -> Bed:
        return Bed(share * terms.memory_gib, models[workload.model].weight_bytes / _GIB)

    dormitory = ObjectDormitory(objects, boards, sleeping, share)
    return Standby(terms, Keeper(dormitory, doors(sleeping)), workloads, bed)


def share_of(terms: PoolTerms) -> float:
    """Return the share of a slice's memory that the engine awake may take: others' contexts lie beside it."""
    return min(MEMORY_UTILISATION, share_for_one_awake(terms.memory_gib, terms.sleepers))


def http_doors(engine: SleepingEngine, fence: Callable[[], object], token: Path | None) -> HttpDoors:
    """Return doors to engines at the addresses of their pods."""

    def url(sleeper: Sleeper) -> str:
        host = f"[{sleeper.address}]" if ":" in sleeper.address else sleeper.address
        return f"http://{host}:{sleeper.port or engine.port}" if host else ""

    def read() -> str | None:
        if token is None:
            return None
        try:
            return token.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UnavailableError(f"standby.token_file: {error.strerror}") from error

    return HttpDoors(engine, url, fence, read)
