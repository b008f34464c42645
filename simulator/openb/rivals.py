"""Placement rules to beat on openb, as their authors' simulator has them.

hkust-adsl/kubernetes-scheduler-simulator, pkg/simulator/plugin: random_score.go, best_fit_score.go,
fgd_score.go and, for the card within a host, open_gpu_share.go. Scores are whole numbers from 0 to 100, and
of the best hosts the first by name is taken: there selectHost does not draw, so that runs can be repeated
(vendor/k8s.io/kubernetes/pkg/scheduler/core/generic_scheduler.go).
"""

from __future__ import annotations

import numpy as np

from allocator.shares.fragmentation import Floats, Fragmentation
from allocator.shares.hosts import Hosts, Ints, Spot
from allocator.shares.mix import WHOLE_MILLI, Ask, Mix
from allocator.shares.rule import Score, Scores, after, best_card, cards_of

_MOST_CPU_MILLI, _MOST_GPU_MILLI = 128_000, 8_000
"""Largest host, by which best fit scales (pkg/type/open-gpu-share/utils, MaxSpecCpu, MaxSpecGpu)."""


class Random:
    """Any host on which the pod fits, any card of it."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def spot(self, hosts: Hosts, ask: Ask) -> Spot | None:
        """Return where the pod goes, `None` if it fits nowhere."""
        fitting = np.flatnonzero(hosts.fits(ask))
        if not len(fitting):
            return None
        host = int(self._rng.choice(fitting))
        card = int(self._rng.choice(np.flatnonzero(hosts.idle[host] >= ask.milli))) if ask.is_share else 0
        return cards_of(hosts, host, ask, card)


class _ByScore:
    """The host with the best score; of equals the first."""

    def __init__(self, score: Score) -> None:
        self._scores = Scores(score)

    def spot(self, hosts: Hosts, ask: Ask) -> Spot | None:
        """Return where the pod goes, `None` if it fits nowhere."""
        scores, cards = self._scores.of(hosts, ask)
        if scores.min(initial=np.inf) == np.inf:
            return None
        host = int(scores.argmin())
        return cards_of(hosts, host, ask, int(cards[host]))


class BestFit(_ByScore):
    """The host with least CPU and GPU left, the fullest card of it."""

    def __init__(self) -> None:
        super().__init__(_fit)


class Fgd(_ByScore):
    """The host and card on which expected fragmentation grows least, looked at to a hundredth."""

    def __init__(self, mix: Mix, hosts: Hosts) -> None:
        self._fragmentation = Fragmentation(mix, hosts.products)
        super().__init__(self._gradient)

    def _gradient(self, hosts: Hosts, rows: Ints, ask: Ask) -> tuple[Floats, Ints]:
        which, card, left = after(hosts, rows, ask)
        host = rows[which]
        before = self._fragmentation.expected(hosts.idle[rows], hosts.cpu_milli[rows], hosts.product[rows])
        later = self._fragmentation.expected(left, hosts.cpu_milli[host] - ask.cpu_milli, hosts.product[host])
        score = np.floor(100 / (1 + np.exp((later - before[which]) / WHOLE_MILLI)))
        return best_card(-score, which, card, len(rows))


def _fit(hosts: Hosts, rows: Ints, ask: Ask) -> tuple[Floats, Ints]:
    idle = hosts.idle[rows]
    cpu_left = (hosts.cpu_milli[rows] - ask.cpu_milli) / _MOST_CPU_MILLI
    gpu_left = (idle.sum(axis=1) - ask.gpu_milli) / _MOST_GPU_MILLI
    score = np.floor(100 * (1 - (cpu_left + gpu_left) / 2))
    fullest = np.where(idle >= ask.milli, idle, WHOLE_MILLI + 1).argmin(axis=1)
    return -score, fullest
