"""How long a change takes, learnt from those that were made.

A forecast is worth nothing before the time that a change takes, and every second reckoned too much is
paid for with capacity. So the tier's quantile of what was measured counts, not a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil

from fleet.cluster import Standing
from fleet.workload import Tier, WorkloadKey

ENOUGH = 20
"""Changes from which on a workload's own times stand alone; as many plans of each are kept."""


def lead_time_s(own_s: Sequence[float], pool_s: Sequence[float], quantile: float, prior_s: float) -> float:
    """Return the seconds from decided to ready that a change takes at a quantile.

    Args:
        own_s: What changes of this workload took.
        pool_s: What changes of all workloads took that are made real the same way.
        quantile: Share of changes that are to be ready by then.
        prior_s: What is reckoned with while nothing was measured.

    Returns:
        The nearest rank among n + 1, the next change being one of them (conformal prediction, Vovk et al.
        2005): below `ENOUGH` changes of its own shrunk to the pool's, and the pool's to the prior.
    """
    pooled_s = _shrunk(pool_s, quantile, prior_s)
    return _shrunk(own_s, quantile, pooled_s)


def lead_times_s(
    standings: Iterable[Standing], tiers: Mapping[WorkloadKey, Tier], prior_s: float
) -> dict[WorkloadKey, float]:
    """Return the lead time of each workload at its tier's quantile, in seconds, from its kept plans."""
    own = {standing.key: [start.lead_s for start in standing.starts] for standing in standings}
    pool = [lead_s for leads in own.values() for lead_s in leads]
    return {
        key: lead_time_s(own.get(key, ()), pool, tier.lead_time_quantile, prior_s)
        for key, tier in tiers.items()
    }


def _shrunk(times_s: Sequence[float], quantile: float, towards_s: float) -> float:
    if not times_s:
        return towards_s
    rank = min(len(times_s), ceil(quantile * (len(times_s) + 1)))
    weight = min(1.0, len(times_s) / ENOUGH)
    return weight * sorted(times_s)[rank - 1] + (1.0 - weight) * towards_s
