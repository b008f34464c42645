"""First uses of a shape: one replica serves for a while inside the objectives before more is built on it.

How long it has done so is kept in memory, and counts anew after a restart. That it was long enough is noted
in the plan that added it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from actuator.evidence import note_proof
from actuator.ports import Cluster
from fleet.cluster import Fleet, Standing
from fleet.demand import NowReading
from fleet.errors import ForesliceError
from fleet.shape import Shape
from fleet.workload import WorkloadKey

LONGEST_TURN_S = 60.0
"""A reading speaks of its last minute; what was between two that are further apart, nobody knows."""


class Trials:
    """Counts for how long replicas of unproven shapes have served inside their objectives.

    Args:
        trial_s: How long they have to, in seconds.
    """

    def __init__(self, trial_s: float) -> None:
        self._trial_s = trial_s
        self._served_s: dict[tuple[WorkloadKey, Shape], float] = {}
        self._at_s: float | None = None

    def turn(self, fleet: Fleet, readings: Mapping[WorkloadKey, NowReading], at_s: float) -> None:
        """Take in what pods did in the last minute; one that is beyond its objectives begins anew."""
        passed_s = 0.0 if self._at_s is None else min(at_s - self._at_s, LONGEST_TURN_S)
        self._at_s = at_s
        served_s: dict[tuple[WorkloadKey, Shape], float] = {}
        for standing in fleet.standings:
            reading = readings.get(standing.key)
            for shape, pods in _on_trial(standing).items():
                before_s = self._served_s.get((standing.key, shape), 0.0)
                if reading is not None and pods & reading.outside:
                    before_s = 0.0
                elif reading is not None and pods & reading.inside:
                    before_s += passed_s
                served_s[standing.key, shape] = before_s
        self._served_s = served_s

    def keep(self, cluster: Cluster, at_s: float) -> None:
        """Note in their plans which shapes are proven; on trouble the next turn does it."""
        for (key, shape), served_s in self._served_s.items():
            if served_s >= self._trial_s:
                with suppress(ForesliceError):
                    note_proof(cluster, key, shape, at_s)


def _on_trial(standing: Standing) -> Mapping[Shape, set[str]]:
    """Return the pods that serve on shapes which are not proven, by shape."""
    return {
        variant.shape: {replica.pod for replica in variant.replicas if replica.serves}
        for variant in standing.variants
        if variant.replicas and not standing.is_proven(variant.shape)
    }
