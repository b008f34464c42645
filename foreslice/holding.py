"""Which room the loop has held: for workloads that wait for it, for trials, and from all where it failed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from actuator.holding import hold_rooms
from actuator.ports import Cluster
from allocator.bans import bans
from allocator.decide import Decision
from allocator.holding import Wish, rooms_to_hold
from fleet.cluster import Fleet, Standing
from fleet.holds import Hold
from fleet.workload import Mode, Workload, WorkloadKey
from foreslice.rules import Rules


class Holding:
    """Holds room in a cluster, turn by turn; what is held the cluster knows.

    Once a scheduler was seen to give away what is held, nothing is held any more by this process.

    Args:
        cluster: What is written to.
        workloads: Those that are looked after.
        longest_s: How long one hold lasts at most, in seconds.
    """

    def __init__(self, cluster: Cluster, workloads: Iterable[Workload], longest_s: float) -> None:
        self._cluster = cluster
        self._modes = {workload.key: workload.mode for workload in workloads}
        self._longest_s = longest_s
        self._breach = ""

    def turn(
        self, fleet: Fleet, due: Sequence[Decision], planned: Mapping[WorkloadKey, Decision], at_s: float
    ) -> tuple[str, ...]:
        """Have room held as of now; return what stands against it and what is barred, one line each.

        Args:
            fleet: The cluster as it stands.
            due: What is added to workloads now, most urgent first.
            planned: Decisions of the newest plan.
            at_s: Time, seconds since the epoch.
        """
        if self._breach or fleet.breaches:
            self._breach = self._breach or fleet.breaches[0]
            said = f"room is not held, a scheduler does not heed device taints: {self._breach}"
            return (said, *hold_rooms(self._cluster, fleet.holds, ()))
        wishes = tuple(self._wishes(fleet, due, planned, at_s))
        barred = bans(fleet, at_s)
        wanted = (*rooms_to_hold(fleet, wishes, at_s + self._longest_s, at_s), *barred)
        return (*hold_rooms(self._cluster, fleet.holds, wanted), *map(_said, barred))

    def _wishes(
        self, fleet: Fleet, due: Sequence[Decision], planned: Mapping[WorkloadKey, Decision], at_s: float
    ) -> Iterator[Wish]:
        """Yield who is short before who is on trial; the room of a trial is held no longer than once."""
        found = [(self._standing(fleet, decision), decision) for decision in due]
        served = [(standing, decision) for standing, decision in found if standing is not None]
        for standing, decision in served:
            yield Wish(standing, decision.later, at_s + self._longest_s, is_short=True)
        for standing, _ in served:
            moved = planned.get(standing.key)
            begun_s = standing.changed_at_s
            if moved is not None and begun_s is not None and standing.wanted.counts == moved.goal.counts:
                yield Wish(standing, moved.later, begun_s + self._longest_s, is_short=False)

    def _standing(self, fleet: Fleet, decision: Decision) -> Standing | None:
        """Return how the workload stands, `None` if nothing is to be written for it."""
        standing = fleet.standing(decision.workload)
        mode = self._modes.get(decision.workload, Mode.OFF)
        return standing if standing is not None and standing.may_gain(mode) else None


def _said(ban: Hold) -> str:
    pool, device = ban.device
    return f"device {device} of {pool} is given to nobody for a while: {ban.purpose}; delete the pod"


def holding_of(cluster: Cluster | None, workloads: Iterable[Workload], rules: Rules) -> Holding | None:
    """Return what holds room in a cluster, `None` where none may be held."""
    if cluster is None or not rules.acting or rules.hold_s is None:
        return None
    return Holding(cluster, workloads, rules.hold_s)
