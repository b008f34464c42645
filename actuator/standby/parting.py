"""How a workload leaves the pool for good, without anybody who turns the pool: `foreslice restore`.

Asks nothing of engines, which only foreslice's own pods need reach. Whoever still turns the pool beside this
does no harm: each write is on the version that was read, and a pod that ends gives its memory back awake or
asleep.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress

from actuator.standby.course import Rhythm
from actuator.standby.ports import Dormitory
from fleet.errors import ConflictError
from fleet.standby import Doing, Hold, PoolSlice
from fleet.workload import WorkloadKey


def part(
    dormitory: Dormitory, namespace: str, leaving: Collection[WorkloadKey], at_s: float
) -> Iterator[WorkloadKey]:
    """Bring workloads that leave a namespace's pool as far as now, and yield who is still there.

    A pod whose gate is open is closed, has the time to end its requests, and goes then; one that sleeps goes
    at once. A slice on which nobody sleeps any more goes, too.

    Args:
        dormitory: The pool's objects.
        namespace: Where.
        leaving: Who leaves.
        at_s: Time, seconds since the epoch.
    """
    for pool in dormitory.slices(namespace):
        here = {sleeper.workload for sleeper in pool.sleepers}
        if pool.hold is not None:
            here.add(pool.hold.workload)
        for workload in sorted(here & {*leaving}):
            yield workload
            with suppress(ConflictError):  # somebody was faster: what stands then is looked at next time
                _part(dormitory, pool, workload, at_s)


def clear(dormitory: Dormitory, namespace: str) -> None:
    """Drop the slices of a namespace on which nobody is: for when all workloads have left and none comes."""
    for pool in dormitory.slices(namespace):
        if not pool.sleepers and pool.hold is None:
            with suppress(ConflictError):
                dormitory.drop(pool)


def _part(dormitory: Dormitory, pool: PoolSlice, workload: WorkloadKey, at_s: float) -> None:
    sleeper, hold = pool.sleeper(workload), pool.hold
    if sleeper is None:
        dormitory.hold(pool, None, pool.barred)
        if not pool.sleepers:
            for free in (one for one in dormitory.slices(pool.namespace) if one.name == pool.name):
                dormitory.drop(free)
    elif sleeper.is_leaving:
        return
    elif hold is None or (hold.workload == workload and hold.doing is not Doing.LEAVING):
        dormitory.hold(pool, Hold(workload, Doing.LEAVING, at_s), pool.barred)
    elif sleeper.is_open:
        dormitory.turn(pool, sleeper, is_open=False, at_s=at_s)
    elif at_s - sleeper.turned_s >= Rhythm().drain_s:
        dormitory.remove(pool, sleeper)
