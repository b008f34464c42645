"""The standby pool for people: who sleeps where, who uses it, and who got less than was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.table import Table

from fleet.ledgers.beds import Bed, Measured
from fleet.standby import PoolSlice
from fleet.workload import WorkloadKey
from foreslice import show
from foreslice.standby.terms import PoolView


def pool_table(pool: PoolView) -> Table:
    """Return the slices with whose turn it is; below them who is short."""
    table = show.table("standby slice", "node", "held by", "for", "sleep there", "left alone")
    for each in pool.slices:
        held = ("-", "-") if each.hold is None else (str(each.hold.workload), each.hold.doing.value)
        sleeping = ", ".join(str(key) for key in _sleeping(each))
        table.add_row(
            each.name, each.node or "-", *held, sleeping or "-", ", ".join(map(str, each.barred)) or "-"
        )
    if pool.short:
        table.caption = "short: " + ", ".join(f"{key} of {count}" for key, count in pool.short.items())
    return table


def pool_as_json(pool: PoolView | None) -> dict[str, Any] | None:
    """Return the same as scripts read it, `None` without a pool."""
    if pool is None:
        return None
    return {
        "slices": [
            {
                "namespace": each.namespace,
                "name": each.name,
                "node": each.node,
                "held_by": None if each.hold is None else str(each.hold.workload),
                "held_for": None if each.hold is None else each.hold.doing,
                "sleeping": [str(key) for key in _sleeping(each)],
                "left_alone": [str(key) for key in each.barred],
            }
            for each in pool.slices
        ],
        "asked": {str(key): count for key, count in pool.asks.items()},
        "short": {str(key): count for key, count in pool.short.items()},
        "memory": {
            str(key): {
                "host_gib": bed.host_gib,
                "host_readings": read.host.readings,
                "context_gib": bed.context_gib,
                "context_readings": read.context.readings,
            }
            for key, (bed, read) in pool.beds_in_use.items()
        },
    }


def beds_of(pool: PoolView | None, workload: WorkloadKey) -> Iterator[str]:
    """Yield what the pool does for one workload, one line each."""
    if pool is None:
        return
    mine = [each for each in pool.slices if each.sleeper(workload) is not None]
    if not mine:
        yield "has no bed in the pool"
        return
    free = [each.name for each in mine if each.hold is None]
    yield f"sleeps on {', '.join(each.name for each in mine)}; free now: {', '.join(free) or 'none'}"
    for each in mine:
        if each.hold is not None and each.hold.workload == workload:
            yield f"{each.name} is held for it: {each.hold.doing}"
        if workload in each.barred:
            yield f"its engine stuck on {each.name} and is left alone"
    yield from _taken(*pool.beds[workload])
    if workload in pool.asks:
        yield f"asks for {pool.asks[workload]}, {pool.short.get(workload, 0)} of them in vain"


def _taken(bed: Bed, read: Measured) -> Iterator[str]:
    """Yield what is reckoned with for an engine, and what that rests on."""
    for what, gib, seen in (
        ("of its node's memory", bed.host_gib, read.host),
        ("of the device while it sleeps", bed.context_gib, read.context),
    ):
        rests = f"the most of {seen.readings} readings" if gib == seen.gib else "a prior"
        if seen.readings and gib != seen.gib:
            rests += f"; {seen.readings} readings, {seen.gib:.1f} GiB at most"
        yield f"its engine takes {gib:.1f} GiB {what} ({rests})"


def _sleeping(pool: PoolSlice) -> list[WorkloadKey]:
    held = pool.hold.workload if pool.hold is not None else None
    return [each.workload for each in pool.sleepers if each.workload != held]
