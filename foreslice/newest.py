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

    Attributes:
        read_at_s: When it was last read, seconds since the epoch, `None` = never.
    """

    def __init__(self, metrics: MetricsSource, workloads: Sequence[WorkloadKey]) -> None:
        self._metrics = metrics
        self._workloads = workloads
        self._samples: Mapping[WorkloadKey, InstantSamples] = {}
        self.read_at_s: float | None = None

    def samples(self, at_s: float, within_s: float = 0.0) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest samples of `NOW_SIGNALS`; those that were read less than `within_s` ago will do.

        Raises `UnavailableError` when the source does not answer.
        """
        if self.read_at_s is None or not 0.0 <= at_s - self.read_at_s < within_s:
            self._samples = self._metrics.now(NOW_SIGNALS, self._workloads, at_s)
            self.read_at_s = at_s
        return self._samples
