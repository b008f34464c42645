"""The standby pool: how many slices, and whose engines sleep together.

Each workload's own insurance against its own bursts is what costs most, and bursts of different workloads
seldom coincide. So the pool is sized by the fleet's *summed* need, never by the sum of what each may need.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

Needs = NDArray[np.int64]
Floats = NDArray[np.float64]

_ROUND_OFF = 1e-9


def slices_for(needed: Needs, quantile: float) -> int:
    """Return the slices of a pool that were enough in a share of the time, nearest rank among n + 1.

    Args:
        needed: Slices that workloads needed beyond their own, by step and workload, while it was known.
        quantile: Share of the time, above 0.
    """
    if not len(needed):
        return 0
    total = np.sort(needed.sum(axis=1))
    rank = min(len(total), ceil(quantile * (len(total) + 1)))
    return int(total[rank - 1])


def excess_slices(work: Floats, lead: int, quiet: int, carries: float, level: float = 1.0) -> Needs:
    """Return the slices that a workload would have needed beyond its own capacity, by step.

    Its own follows demand: at every step the highest of the quiet time that ended one lead time ago was
    ready.

    Args:
        work: Work by step, NaN = unknown, when nothing counts as needed.
        lead: Steps from an order to ready.
        quiet: Steps over which a need must have been lower before capacity is given up.
        carries: Work that a slice carries.
        level: Part of the demand that it keeps of its own.
    """
    padded = np.concatenate([np.full(lead + quiet - 1, np.nan), work])[: len(work) + quiet - 1]
    spans = np.lib.stride_tricks.sliding_window_view(padded, quiet)
    ready = level * np.max(np.nan_to_num(spans, nan=-np.inf), axis=1)
    over = np.where(np.isfinite(ready) & np.isfinite(work), work - ready, 0.0)
    slices: Needs = np.maximum(np.ceil(np.nan_to_num(over) / carries - _ROUND_OFF), 0.0).astype(np.int64)
    return slices


def hosts(needed: Needs, size: int) -> tuple[tuple[int, ...], ...]:
    """Return which workloads sleep together, in groups of at most `size`: those whose bursts do not meet.

    A slice keeps the weights of all its sleepers in its host's memory, which is what bounds a group. Greedy:
    the most restless first, each into the group with room whose need varies least with its own.

    Args:
        needed: Slices that workloads needed beyond their own, by step and workload.
        size: Workloads in a group at most.
    """
    workloads = needed.shape[1]
    groups: list[list[int]] = [[] for _ in range(ceil(workloads / size))]
    together = np.cov(needed.T.astype(np.float64)) if len(needed) > 1 else np.zeros((workloads, workloads))
    together = together.reshape(workloads, workloads)
    for one in sorted(range(workloads), key=lambda each: (-together[each, each], each)):
        open_groups = [group for group in groups if len(group) < size]
        best = min(open_groups, key=lambda group: (_meeting(together, one, group), len(group)))
        best.append(one)
    return tuple(tuple(sorted(group)) for group in groups)


def _meeting(together: NDArray[np.float64], one: int, group: Sequence[int]) -> float:
    return float(together[one, list(group)].sum()) if group else 0.0
