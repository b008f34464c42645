"""Who sleep together on each day, learnt on other days than the one that they are judged on."""

from __future__ import annotations

import numpy as np

from allocator.pool import hosts
from simulator.coarse import Counts

Groups = tuple[tuple[int, ...], ...]
"""Who sleep together, by place among the workloads."""


def groups_by_day(needed: Counts, day: int, test: int, sleepers: int) -> tuple[Groups, ...]:
    """Return who sleep together on each day, by the days before the test less the day itself.

    Groups put together whose bursts did not meet; on the days that they were learnt on they promise too much.

    Args:
        needed: Slices that workloads needed beyond their own, by step and workload.
        day: Steps in a day; the last is what is left.
        test: First step of the test, on which nothing is learnt.
        sleepers: Workloads in a group at most.
    """
    steps = np.arange(len(needed))
    starts = range(0, len(needed), day)
    others = ((steps < test) & ((steps < start) | (steps >= start + day)) for start in starts)
    return tuple(hosts(needed[other], sleepers) for other in others)
