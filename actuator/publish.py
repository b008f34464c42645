"""Says where workloads should be that others act on: written when it changes, and not at every tick."""

from __future__ import annotations

from collections.abc import Mapping

from actuator.ports import Advice, Cluster
from fleet.errors import ForesliceError
from fleet.workload import WorkloadKey

_SpeaksOf = tuple[object, ...]


class Publisher:
    """Writes advice to a cluster; what it has written is a cache, empty after a restart.

    Args:
        cluster: What is written to.
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._written: dict[WorkloadKey, _SpeaksOf] = {}

    def turn(self, advices: Mapping[WorkloadKey, Advice]) -> tuple[str, ...]:
        """Write what is new; return what could not be, one line each. It is tried again the next time."""
        troubles = []
        for key, advice in advices.items():
            # The need of the moment comes along, and is no reason to write: it changes all the time.
            speaks_of = (advice.goal.counts, round(advice.short, 2))
            if self._written.get(key) == speaks_of:
                continue
            try:
                self._cluster.publish(key, advice)
            except ForesliceError as error:
                troubles.append(f"{key}: its target is not published: {error}")
            else:
                self._written[key] = speaks_of
        return tuple(troubles)
