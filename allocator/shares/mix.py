"""What replicas ask of a host, and the mix of asks that is still to come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

WHOLE_MILLI = 1000


@dataclass(frozen=True, slots=True, order=True)
class Ask:
    """What one replica asks of one host.

    Attributes:
        gpus: Number of cards, 0 for none.
        milli: Thousandths of each card, 1..1000; only one card may be shared.
        cpu_milli: Thousandths of a CPU core.
        memory_mib: Host memory in MiB.
        products: Card products that it may run on, empty for any.
    """

    gpus: int
    milli: int
    cpu_milli: int
    memory_mib: int
    products: frozenset[str] = frozenset()

    @property
    def is_share(self) -> bool:
        """Whether it takes part of a card."""
        return self.gpus == 1 and self.milli < WHOLE_MILLI

    @property
    def gpu_milli(self) -> int:
        """Thousandths of a card in all."""
        return self.gpus * self.milli


@dataclass(frozen=True, slots=True)
class Mix:
    """How likely each ask is the next one; weights are made to sum to 1.

    With a forecast these are the replicas that the horizon is going to ask for, without one what was
    asked for lately.
    """

    weights: Mapping[Ask, float] = field(hash=False)

    def __post_init__(self) -> None:
        total = sum(self.weights.values())
        object.__setattr__(self, "weights", {ask: w / total for ask, w in sorted(self.weights.items())})

    @property
    def cpu_milli_per_gpu(self) -> float:
        """CPU that comes with a card's worth of asks, in thousandths of a core; 0 if none asks for cards."""
        return self._per_gpu({ask: ask.cpu_milli for ask in self.weights})

    @property
    def memory_mib_per_gpu(self) -> float:
        """Host memory that comes with a card's worth of asks, in MiB; 0 if none asks for cards."""
        return self._per_gpu({ask: ask.memory_mib for ask in self.weights})

    def _per_gpu(self, amounts: Mapping[Ask, int]) -> float:
        gpu_milli = sum(w * ask.gpu_milli for ask, w in self.weights.items())
        amount = sum(w * amounts[ask] for ask, w in self.weights.items() if ask.gpus)
        return WHOLE_MILLI * amount / gpu_milli if gpu_milli else 0.0
