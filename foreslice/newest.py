"""The newest readings of demand, read once for all who ask in the same moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fleet.workload import WorkloadKey
from predictor.now import NOW_SIGNALS
from predictor.ports import InstantSamples, MetricsSource

SAME_MOMENT_S = 5.0
"""What was read so lately is as good as new for a plan: half a tick, and less than most scrapes are apart."""


class Newest:
    """Reads what every workload's pods say now.

    Args:
        metrics: Where it is read from.
        workloads: Whose.
    """

    def __init__(self, metrics: MetricsSource, workloads: Sequence[WorkloadKey]) -> None:
        self._metrics = metrics
        self._workloads = workloads
        # When and what, exchanged as one: a tick and a plan may read at once.
        self._read: tuple[float, Mapping[WorkloadKey, InstantSamples]] | None = None

    @property
    def read_at_s(self) -> float | None:
        """When it was last read, seconds since the epoch; `None` = never."""
        return self._read[0] if self._read is not None else None

    def samples(self, at_s: float, within_s: float = 0.0) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest samples of `NOW_SIGNALS`; those that were read less than `within_s` ago will do.

        Raises `UnavailableError` when the source does not answer.
        """
        read = self._read
        if read is None or not 0.0 <= at_s - read[0] < within_s:
            read = self._read = at_s, self._metrics.now(NOW_SIGNALS, self._workloads, at_s)
        return read[1]
