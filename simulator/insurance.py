"""What the standby pool of a run cost and whom it served, read off its journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fleet.workload import WorkloadKey
from simulator.journal import Journal

_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Use:
    """What a workload had of the pool.

    Attributes:
        wakes: How often one of its standby engines began to be sent requests.
        hours: For how long they were, summed over engines.
        requests: Requests that they served.
    """

    wakes: int
    hours: float
    requests: float


@dataclass(frozen=True, slots=True)
class PoolAccount:
    """A pool in figures.

    Attributes:
        gpu_hours: Hours of its slices, used or not, each weighted with its share of a card.
        uses: What each workload had of it.
        served_share: Requests that its engines served over all that were served, of the whole fleet.
    """

    gpu_hours: float
    uses: Mapping[WorkloadKey, Use]
    served_share: float

    @property
    def wakes(self) -> int:
        """How often an engine of any workload began to be sent requests."""
        return sum(use.wakes for use in self.uses.values())


def pool_account(
    journal: Journal, workloads: Sequence[WorkloadKey], start_s: float, end_s: float
) -> PoolAccount:
    """Return the figures of a pool in [start_s, end_s), whole minutes that the journal has tallies of.

    Args:
        journal: The run's.
        workloads: Workloads, in the order of the tallies.
        start_s: Begin, seconds since the epoch.
        end_s: End, seconds since the epoch.
    """

    def hours(from_s: float, until_s: float) -> float:
        return max(0.0, min(until_s, end_s) - max(from_s, start_s)) / _HOUR_S

    total = journal.tallies[end_s].since(journal.tallies[start_s])
    completed = float(total.completed.sum())
    uses = {}
    for key, requests in zip(workloads, total.by_standby.tolist(), strict=True):
        turns = [one for one in journal.servings if one.is_standby and one.workload == key]
        wakes = sum(start_s <= one.from_s < end_s for one in turns)
        uses[key] = Use(wakes, sum(hours(one.from_s, one.until_s) for one in turns), requests)
    slices = [one for one in journal.holdings if one.workload is None]
    return PoolAccount(
        gpu_hours=sum(one.gpu_share * hours(one.from_s, one.until_s) for one in slices),
        uses=uses,
        served_share=float(total.by_standby.sum()) / completed if completed else 0.0,
    )
