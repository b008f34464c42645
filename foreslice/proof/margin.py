"""Targets with a margin that grows while more goes unserved than may.

A setting that was chosen on days unlike those that come is put right within hours, not at the next midnight.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from predictor.ports import Floats
from predictor.steps import DAY_S
from simulator.coarse import Counts, Seen, Stage, Wish

HALF_LIFE_S = DAY_S
"""Age at which unserved work counts half: a good day makes up for a bad one."""

GAIN = 0.2
"""Logarithm of the margin for each time that what went unserved exceeds what may (docs/adr/0043-*.md)."""

MOST = 2.0
"""Margin that is not exceeded: bursts that no setting holds are not to be paid for without end."""


def margin_of(unserved: Floats, allowed: float) -> Floats:
    """Return what targets are multiplied by, at least 1: exp(`GAIN` x (unserved / allowed - 1)).

    A multiplicative step by the excess over what is allowed, as in adaptive conformal inference (Gibbs and
    Candès, 2021) and its control form (Angelopoulos et al., 2023), on the share of the work instead of on how
    often a quantile was missed.

    Args:
        unserved: Share of the work that lately went unserved.
        allowed: Share that may.
    """
    excess = np.maximum(unserved / allowed - 1.0, 0.0)
    margin: Floats = np.minimum(np.exp(GAIN * excess), MOST)
    return margin


class WithMargin:
    """Follows targets times the margin that each workload's own work asks for.

    Args:
        targets: Wanted capacity without it, by step and workload.
        allowed: Share of the work that may go unserved.
        quiet: Steps for which a target must have been lower before capacity is given up.
    """

    def __init__(self, targets: Floats, allowed: float, quiet: int) -> None:
        self._targets = targets
        self._allowed = allowed
        self._quiet = quiet

    def begin(self, stage: Stage) -> Counts:
        """Begin with the first target as it is."""
        workloads = stage.work.shape[1]
        self._stage = stage
        self._fades = 0.5 ** (stage.step_s / HALF_LIFE_S)
        self._lacked, self._asked = np.zeros(workloads), np.zeros(workloads)
        self._wanted: deque[Counts] = deque(maxlen=self._quiet)
        return stage.replicas(self._targets[:1])

    def wish(self, seen: Seen) -> Wish:
        """Take what the last step left unserved into account, and give up what nothing wanted for long."""
        stage = self._stage
        counted = seen.work * stage.is_scored[seen.at]
        lacked = np.maximum(counted - seen.ready[0] * stage.piece, 0.0)
        self._lacked = self._fades * self._lacked + lacked
        self._asked = self._fades * self._asked + counted
        unserved = self._lacked / np.maximum(self._asked, _TINY)
        self._wanted.append(stage.replicas(margin_of(unserved, self._allowed) * self._targets[[seen.at]]))
        highest = np.maximum.reduce(self._wanted)
        return Wish(highest, highest)


_TINY = 1e-12
