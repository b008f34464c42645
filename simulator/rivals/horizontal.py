"""Kubernetes' HorizontalPodAutoscaler on load per replica, with its defaults.

kubernetes/kubernetes, pkg/controller/podautoscaler: desired = ceil(current x metric / target), nothing
within a tolerance of 10 %, unready pods count with no load; a fall needs the highest recommendation of the
last 300 s to be lower; a rise is at most 4 pods or 100 % every 15 s. The metric is requests in the system
per replica, which, unlike a use of the GPU, does not stop at 100 %: that is in its favour.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from predictor.ports import Floats
from simulator.coarse import Counts, Seen, Stage, Wish

TOLERANCE = 0.10
STABILISATION_S = 300
RISE_PODS, RISE_FACTOR, RISE_EVERY_S = 4, 2, 15


class Horizontal:
    """Knob: the target, as a part of what a replica carries inside its SLO."""

    def __init__(self, targets: Floats) -> None:
        self._targets = targets[:, np.newaxis]

    def begin(self, stage: Stage) -> Counts:
        """Begin with what the first step asks for."""
        self._piece = stage.piece
        self._rises = stage.step_s // RISE_EVERY_S
        self._recent: deque[Counts] = deque(maxlen=max(1, STABILISATION_S // stage.step_s))
        return stage.replicas(stage.work[0] / self._targets)

    def wish(self, seen: Seen) -> Wish:
        """Go by the ratio of load per replica to the target."""
        load = seen.work / self._piece
        ratio = load / (seen.held * self._targets)
        wanted = np.ceil(ratio * seen.held - 1e-9).astype(np.int64)
        wanted = np.where(np.abs(ratio - 1.0) <= TOLERANCE, seen.held, np.maximum(wanted, 1))
        self._recent.append(wanted)
        most = seen.held
        for _ in range(self._rises):
            most = np.maximum(most + RISE_PODS, most * RISE_FACTOR)
        return Wish(np.minimum(wanted, most), np.maximum.reduce(self._recent))
