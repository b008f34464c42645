"""What engines take of hosts and devices while they sleep, read off metrics in place of priors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import ceil, inf

from actuator.standby.ports import Dormitory
from fleet.errors import ConflictError
from fleet.ledgers.beds import ENOUGH, Highest, Measured
from fleet.standby import PoolSlice
from fleet.workload import WorkloadKey
from predictor.ports import MEMORY_S, MemorySource, PodMemory, PodName

RESTED_S = MEMORY_S + 60.0
"""So long all on a slice have to have slept before it is read: a reading of memory may be that old."""

DAY_S, FORGOTTEN_S = 86400.0, 7 * 86400.0
"""What was read is written anew once a day, and forgotten after a week without: engines are upgraded."""

_GIB = 1 << 30

Taken = Mapping[WorkloadKey, Measured]
Used = Mapping[PodName, PodMemory]


@dataclass(frozen=True, slots=True)
class _Rest:
    """A slice on which all sleep.

    Attributes:
        pool: The slice; while claim and pods have these versions nobody is held, woken or restarted.
        since_s: Since when it is known to be as it is.
        read_s: When it was last read as it is.
    """

    pool: PoolSlice
    since_s: float
    read_s: float = -inf

    def is_due(self, at_s: float) -> bool:
        """Return whether reading it may tell something: what has been read enough is read once a rest."""
        if at_s - self.since_s < RESTED_S:
            return False
        taken = [self.pool.taken.get(each.workload, Measured()) for each in self.pool.sleepers]
        is_known = all(min(one.host.readings, one.context.readings) >= ENOUGH for one in taken)
        return not is_known or at_s - self.read_s >= DAY_S


class Memory:
    """Learns what sleeping engines take, and keeps it on the slices: a new process finds it there.

    Args:
        source: Where memory is read from.
        dormitory: Where what was read is noted.
    """

    def __init__(self, source: MemorySource, dormitory: Dormitory) -> None:
        self._source = source
        self._dormitory = dormitory
        self._rests: dict[tuple[str, str], _Rest] = {}

    def learn(self, pools: Iterable[PoolSlice], at_s: float) -> None:
        """Read the slices on which all have slept for long enough, and note what is new.

        Raises:
            UnavailableError: Metrics or cluster did not answer.
        """
        before, self._rests = self._rests, {}
        for pool in pools:
            if pool.is_at_rest:
                name = pool.namespace, pool.name
                rest = before.get(name)
                self._rests[name] = rest if rest is not None and rest.pool == pool else _Rest(pool, at_s)
        due = {name: rest.pool for name, rest in self._rests.items() if rest.is_due(at_s)}
        if not due:
            return
        used = self._source.memory([(p.namespace, s.pod) for p in due.values() for s in p.sleepers], at_s)
        for name, pool in due.items():
            self._rests[name] = replace(self._rests[name], read_s=at_s)
            now = with_readings(pool, used, at_s)
            if _is_news(pool.taken, now, at_s):
                with suppress(ConflictError):  # it is somebody's turn now: it is read again when all sleep
                    self._dormitory.note(pool, now)


def with_readings(pool: PoolSlice, used: Used, at_s: float) -> dict[WorkloadKey, Measured]:
    """Return what is known of a slice's engines after readings of it, as all slept there.

    An exporter tells of a device as a whole: an even part of it is put down to each context, so that together
    those that slept there are never reckoned with less than was read.
    """
    found = {key: one for key, one in pool.taken.items() if at_s - one.at_s < FORGOTTEN_S}
    read = {each.workload: used.get((pool.namespace, each.pod), PodMemory()) for each in pool.sleepers}
    device = max((one.device for one in read.values() if one.device is not None), default=None)
    share = None if device is None else device / len(pool.sleepers)
    for key, one in read.items():
        if one.host is not None or share is not None:
            new = Measured(_once(one.host), _once(share), at_s)
            found[key] = found.get(key, Measured()).plus(new)
    return found


def by_model(pools: Iterable[PoolSlice], models: Mapping[WorkloadKey, str]) -> dict[str, Measured]:
    """Return what engines of each model were read to take on any slice, whichever workload's they are.

    A reading of a slice's device is one, though several engines of a model slept there.
    """
    found: dict[str, Measured] = {}
    for pool in pools:
        here: dict[str, Measured] = {}
        for key, one in pool.taken.items():
            if key in models:
                before = here.get(models[key], Measured())
                together = before.plus(one)
                readings = max(before.context.readings, one.context.readings)
                here[models[key]] = replace(together, context=replace(together.context, readings=readings))
        for model, one in here.items():
            found[model] = found.get(model, Measured()).plus(one)
    return found


def _once(read: float | None) -> Highest:
    return Highest() if read is None else Highest(1, ceil(100 * read / _GIB) / 100)


def _is_news(before: Taken, now: Taken, at_s: float) -> bool:
    if before.keys() != now.keys():
        return True
    return any(_is_more(before[key], one, at_s) for key, one in now.items())


def _is_more(before: Measured, now: Measured, at_s: float) -> bool:
    pairs = ((before.host, now.host), (before.context, now.context))
    grew = any(new.gib > old.gib or old.readings < min(new.readings, ENOUGH) for old, new in pairs)
    return grew or (now.at_s == at_s and at_s - before.at_s >= DAY_S)
