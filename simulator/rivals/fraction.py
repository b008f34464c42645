"""Kubex's rule for GPU fractions: a larger share when a window is full, back when it is quiet.

densify-dev/helm-charts, charts/kubex-automation-engine/docs, GpuReactivePolicy: checked every minute over a
window of 10 min, on pods that are 15 min old at least: at 125 % of the baseline the new total is the
highest x 1.2, at most twice the baseline; back to the baseline when all is under 60 % of it. Never below
the baseline.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from predictor.ports import Floats
from simulator.coarse import Counts, Seen, Stage, Wish

WINDOW_S, YOUNG_S = 600, 900
FULL, QUIET = 1.25, 0.60
GROWTH, MOST = 1.2, 2.0


class Fraction:
    """Knob: the baseline, times the mean work of the training days.

    Args:
        factors: The knob.
        usual: Mean work of the training days, by workload.
    """

    def __init__(self, factors: Floats, usual: Floats) -> None:
        self._baseline = factors[:, np.newaxis] * usual

    def begin(self, stage: Stage) -> Counts:
        """Begin with the baseline."""
        self._stage = stage
        self._recent: deque[Floats] = deque(maxlen=max(1, WINDOW_S // stage.step_s))
        self._young = max(1, YOUNG_S // stage.step_s)
        self._base = stage.replicas(self._baseline)
        self._changed = np.full(self._base.shape, -self._young)
        return self._base

    def wish(self, seen: Seen) -> Wish:
        """Go by the highest and the lowest total of the window."""
        self._recent.append(seen.work)
        highest = np.maximum.reduce(self._recent)
        is_old = seen.at - self._changed >= self._young
        full = is_old & (highest >= FULL * self._baseline)
        quiet = is_old & (highest < QUIET * self._baseline)
        grown = self._stage.replicas(np.minimum(highest * GROWTH, MOST * self._baseline))
        wanted = np.where(full, np.maximum(grown, self._base), np.where(quiet, self._base, seen.held))
        self._changed = np.where(wanted != seen.held, seen.at, self._changed)
        return Wish(wanted, wanted)
