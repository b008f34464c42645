"""llm-d's workload variant autoscaler: adds a replica where little is spare, one at a time.

llm-d/llm-d-workload-variant-autoscaler, docs/saturation-analyzer.md and internal/engines/analyzers: a replica
is saturated at a KV use of 0.80; one more when the mean spare KV use of the others is under 0.10; one less
only if the load of all, dealt out to one fewer, leaves that much spare; nothing while a replica is pending.
Every 60 s.

Here a replica that carries all that it can inside its SLO counts as saturated, and its KV use as in
proportion to its load.
"""

from __future__ import annotations

import numpy as np

from predictor.ports import Floats
from simulator.coarse import Counts, Seen, Stage, Wish

SATURATED = 0.80
EVERY_S = 60


class Saturation:
    """Knob: the spare KV use below which a replica is added, 0.10 as published."""

    def __init__(self, spare: Floats) -> None:
        self._spare = spare[:, np.newaxis]

    def begin(self, stage: Stage) -> Counts:
        """Begin with what the first step asks for."""
        self._every = max(1, EVERY_S // stage.step_s)
        return stage.replicas(stage.work[0] * SATURATED / (SATURATED - self._spare))

    def wish(self, seen: Seen) -> Wish:
        """Add or remove one replica, or none."""
        if seen.at % self._every:
            return Wish(seen.held, seen.held)
        use = SATURATED * seen.load
        is_pending = seen.ready < seen.held
        fewer = np.maximum(seen.ready - 1, 1)
        use_of_fewer = use * seen.ready / fewer
        adds = (SATURATED - use < self._spare) & ~is_pending
        removes = (SATURATED - use_of_fewer >= self._spare) & ~is_pending & (seen.held > 1)
        wanted = seen.held + adds - removes
        return Wish(wanted, wanted)
