"""What the loop sees: the cluster and the newest readings of demand, each read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from actuator.ports import Cluster
from fleet.cluster import Fleet
from fleet.demand import NowReading
from fleet.errors import UnavailableError
from fleet.shape import Shape
from fleet.workload import Workload, WorkloadKey
from foreslice.newcomers import Newcomers
from foreslice.newest import Newest
from foreslice.outlook import Outlook
from foreslice.terms import ready_shapes, seen_of
from predictor.now import now_reading
from predictor.ports import InstantSamples, MetricsSource


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen at one time.

    Attributes:
        at_s: When, seconds since the epoch.
        fleet: The cluster as it stood, `None` = not seen.
        outlooks: What was known and expected then, by workload.
        readings: What the newest readings of demand said, by workload; none where they were not read.
        conditions: What was not seen, and why, one line each.
    """

    at_s: float
    fleet: Fleet | None
    outlooks: Mapping[WorkloadKey, Outlook]
    readings: Mapping[WorkloadKey, NowReading]
    conditions: tuple[str, ...]


class Lookout:
    """Reads one cluster, `None` = there is none, and one metrics source.

    Args:
        workloads: Workloads to look after.
        metrics: Where demand is read from.
        cluster: What is looked at.
    """

    def __init__(
        self, workloads: tuple[Workload, ...], metrics: MetricsSource, cluster: Cluster | None
    ) -> None:
        self._workloads = workloads
        self._keys = [workload.key for workload in workloads]
        self._newest = Newest(metrics, self._keys)
        self._newcomers = Newcomers()
        self._cluster = cluster
        # By workload what a reading was made of, and the reading: a plan goes by what a tick before it read.
        self._made: dict[WorkloadKey, tuple[tuple[object, ...], NowReading]] = {}

    @property
    def read_at_s(self) -> float | None:
        """When demand was last read, seconds since the epoch; `None` = never."""
        return self._newest.read_at_s

    def fleet(self) -> tuple[Fleet | None, tuple[str, ...]]:
        """Return the cluster as it stands, `None` where it is not seen, and what is to be said of that."""
        if self._cluster is None:
            return None, ()
        try:
            fleet = self._cluster.view(self._keys)
        except UnavailableError as error:
            return None, (f"the cluster is not seen: {error}",)
        return fleet, tuple(seen_of(self._workloads, fleet))

    def look(self, at_s: float, outlooks: Mapping[WorkloadKey, Outlook], within_s: float = 0.0) -> Sight:
        """Return what is seen now; metrics that were read within so long are not read again."""
        fleet, conditions = self.fleet()
        readings: Mapping[WorkloadKey, NowReading] = {}
        try:
            readings = self._readings(fleet, outlooks, at_s, self._newest.samples(at_s, within_s))
        except UnavailableError as error:
            conditions += (f"demand now is not read: {error}",)
        return Sight(at_s, fleet, outlooks, readings, conditions)

    def _readings(
        self,
        fleet: Fleet | None,
        outlooks: Mapping[WorkloadKey, Outlook],
        at_s: float,
        samples: Mapping[WorkloadKey, InstantSamples],
    ) -> dict[WorkloadKey, NowReading]:
        ready, fresh = ready_shapes(fleet), self._newcomers.look(fleet, at_s)
        return {
            workload.key: self._reading(
                workload,
                samples[workload.key],
                ready.get(workload.key, {}),
                outlooks[workload.key],
                fresh.get(workload.key, frozenset()),
            )
            for workload in self._workloads
            if workload.key in samples
        }

    def _reading(
        self,
        workload: Workload,
        samples: InstantSamples,
        ready: Mapping[str, Shape],
        outlook: Outlook,
        fresh: frozenset[str],
    ) -> NowReading:
        """Return what samples say, the last time if they and all that they are read by are the same."""
        parts = (samples, frozenset(ready), outlook.mix, workload.slo, fresh, outlook.carried(ready))
        held = self._made.get(workload.key)
        if held is None or held[0] != parts:
            held = self._made[workload.key] = parts, now_reading(*parts)
        return held[1]
