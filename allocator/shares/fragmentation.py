"""How much of the idle GPU the mix to come cannot use: as fragments, and for want of CPU or memory.

Fragmentation is that of FGD (Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads
with Fragmentation Gradient Descent", USENIX ATC 2023; hkust-adsl/kubernetes-scheduler-simulator,
pkg/utils/frag.go): what an ask cannot use of a host, expected over the mix. It looks one replica
ahead, so it does not see that a host's CPU is going to run out before its cards do; the stranded GPU
is what a host keeps idle once its CPU or memory is used up at the rate of the mix.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from allocator.shares.hosts import Ints
from allocator.shares.mix import WHOLE_MILLI, Mix

Floats = NDArray[np.float64]


class Fragmentation:
    """Expected fragments of hosts under one mix.

    Asks that differ in CPU alone are told apart by a table: of those with this share and number of
    cards, how much weight runs on this product with this much CPU. Complexity of a question: hosts x
    cards x kinds of share.
    """

    def __init__(self, mix: Mix, products: Sequence[str]) -> None:
        kinds = sorted({(ask.milli, ask.gpus) for ask in mix.weights if ask.gpus})
        self._milli: Ints = np.array([milli for milli, _ in kinds], dtype=np.int64)
        self._gpus: Ints = np.array([gpus for _, gpus in kinds], dtype=np.int64)
        self._steps: Ints = np.array(sorted({ask.cpu_milli for ask in mix.weights}), dtype=np.int64)
        self._weight: Floats = np.zeros((len(products), len(self._steps) + 1, len(kinds)))
        for ask, weight in mix.weights.items():
            if ask.gpus:
                first = int(np.searchsorted(self._steps, ask.cpu_milli)) + 1
                kind = kinds.index((ask.milli, ask.gpus))
                runs_on = [not ask.products or product in ask.products for product in products]
                self._weight[runs_on, first:, kind] += weight

    def expected(self, idle: Ints, cpu_milli: Ints, product: Ints) -> Floats:
        """Return the expected fragments of hosts, in thousandths of a card.

        Args:
            idle: Thousandths left of each card, one row a host.
            cpu_milli: Thousandths of a core left, by host.
            product: Index into the products, by host.
        """
        usable_on = idle[:, :, None] >= self._milli
        usable = np.einsum("hc,hck->hk", idle, usable_on)
        usable[usable_on.sum(axis=1) < self._gpus] = 0
        weight = self._weight[product, np.searchsorted(self._steps, cpu_milli, side="right")]
        fragments: Floats = idle.sum(axis=1) - (weight * usable).sum(axis=1)
        return fragments


class Stranding:
    """GPU that stays idle once a host's CPU or memory is used up as the mix uses it."""

    def __init__(self, mix: Mix) -> None:
        self._cpu_milli_per_gpu = mix.cpu_milli_per_gpu
        self._memory_mib_per_gpu = mix.memory_mib_per_gpu

    def expected(self, idle: Ints, cpu_milli: Ints, memory_mib: Ints) -> Floats:
        """Return the stranded GPU of hosts, in thousandths of a card; arguments as of `Fragmentation`."""
        served = np.full(len(idle), np.inf)
        for left, per_gpu in (
            (cpu_milli, self._cpu_milli_per_gpu),
            (memory_mib, self._memory_mib_per_gpu),
        ):
            if per_gpu > 0:
                served = np.minimum(served, WHOLE_MILLI * left / per_gpu)
        stranded: Floats = np.maximum(idle.sum(axis=1) - served, 0.0)
        return stranded
