"""What became of changes of a workload: additions that are ready, and what was taken away."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.shape import Configuration


@dataclass(frozen=True, slots=True)
class Start:
    """An addition that has become ready, all times in seconds since the epoch.

    Attributes:
        written_at_s: When it was decided and written; a plan that waited was decided before, and not needed.
        scheduled_at_s: When the last of its replicas was given a node.
        ready_at_s: When the last of them was ready.
    """

    written_at_s: float
    scheduled_at_s: float
    ready_at_s: float

    @property
    def lead_s(self) -> float:
        """Seconds from written to ready; waiting for room is the fleet's and not the change's."""
        return max(0.0, self.ready_at_s - max(self.written_at_s, self.scheduled_at_s))


@dataclass(frozen=True, slots=True)
class Fall:
    """What a plan that took replicas away has made of a workload.

    Attributes:
        at_s: When the last of them were taken, seconds since the epoch.
        start: What was asked for before.
        left: What was asked for after.
    """

    at_s: float
    start: Configuration
    left: Configuration
