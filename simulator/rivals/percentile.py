"""TensorFusion's recommender: a high percentile of the last hours with a margin.

NexusGPU/tensor-fusion, internal/autoscaler/recommender/percentile_recommender.go: 95th percentile of
compute use over 2 h, times 1.15; applied when it differs by more than a tenth from what is held. Use is
capped by what is held, so a workload that is short shows less than it asks for.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from predictor.ports import Floats
from simulator.coarse import Counts, Seen, Stage, Wish

PERCENTILE, HISTORY_S = 95.0, 7200
MARGIN = 1.15
THRESHOLD = 0.10


class Percentile:
    """Knob: the margin, 1.15 as published."""

    def __init__(self, margins: Floats) -> None:
        self._margins = margins[:, np.newaxis]

    def begin(self, stage: Stage) -> Counts:
        """Begin with what the first step asks for."""
        self._stage = stage
        self._used: deque[Floats] = deque(maxlen=max(1, HISTORY_S // stage.step_s))
        self._every = max(1, 300 // stage.step_s)
        return stage.replicas(stage.work[0] * self._margins)

    def wish(self, seen: Seen) -> Wish:
        """Recommend anew every five minutes."""
        piece = self._stage.piece
        self._used.append(np.minimum(seen.work, seen.ready * piece))
        if seen.at % self._every:
            return Wish(seen.held, seen.held)
        recommended = np.percentile(np.array(self._used), PERCENTILE, axis=0) * self._margins
        has = seen.held * piece
        moves = np.abs(recommended - has) > THRESHOLD * has
        wanted = np.where(moves, self._stage.replicas(recommended), seen.held)
        return Wish(wanted, wanted)
