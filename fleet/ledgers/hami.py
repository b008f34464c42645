"""What HAMi grants of a card, in its integers.

Project-HAMi/HAMi (v2.10.0), pkg/device/nvidia/{device,fit_checks}.go; seen with the real extender and
webhook at 4707fb02. Reasons carry HAMi's own names, as its events do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fleet.errors import InputError

_INT32_MAX = 2**31 - 1
_WHOLE = 100


@dataclass(frozen=True, slots=True)
class VgpuAsk:
    """What one container asks for; `InputError` for what HAMi would bind without a card or an entry.

    Attributes:
        gpus: Cards, each another one (`nvidia.com/gpu`).
        memory_mib: MiB of each (`nvidia.com/gpumem`), `None` = not given.
        memory_pct: Per cent of each (`nvidia.com/gpumem-percentage`), `None` = not given; MiB go before it.
        cores: Per cent of each card's SM time (`nvidia.com/gpucores`), `None` = not given.
    """

    gpus: int = 1
    memory_mib: int | None = None
    memory_pct: int | None = None
    cores: int | None = None

    def __post_init__(self) -> None:
        if self.gpus < 1:
            problem, fix = f"{self.gpus} cards: it would run without one", "ask for 1 card or more"
        elif self.memory_mib is not None and not 0 <= self.memory_mib <= _INT32_MAX:
            problem = f"gpumem {self.memory_mib}: beyond 32 bits it would run without a card"
            fix = "give MiB as a plain whole number"
        elif self.memory_pct is not None and not 0 <= self.memory_pct <= _WHOLE:
            problem, fix = f"gpumem-percentage {self.memory_pct}", "give 1 to 100"
        elif self.cores is not None and self.cores < 0:
            problem, fix = f"gpucores {self.cores}", "give 0 to 100"
        else:
            return
        raise InputError(problem, where="HAMi request", fix=fix)

    def memory_of(self, total_mib: int) -> int:
        """Return the MiB that it takes of a card: all of it without memory, or with a memory of 0."""
        return self.memory_mib or total_mib * (self.memory_pct or _WHOLE) // _WHOLE

    @property
    def cores_taken(self) -> int:
        """Return the per cent of SM time that it takes.

        More than 100 is cut to 100. The webhook gives a request for whole cards all of their cores, but not
        where it says so by a memory of 0.
        """
        if self.cores is not None:
            return min(self.cores, _WHOLE)
        return _WHOLE if self.memory_mib is None and self.memory_pct in (None, _WHOLE) else 0


@dataclass(frozen=True, slots=True)
class VgpuCard:
    """One card as the node registers it, and what is taken of it.

    Attributes:
        uuid: UUID.
        total_mib: Memory.
        splits: Number of tenants that it takes at most (`deviceSplitCount`).
        total_cores: Per cent of SM time on offer.
        is_healthy: What the device plugin says.
        tenants: Number of tenants.
        used_mib: Memory taken.
        used_cores: SM time taken.
    """

    uuid: str
    total_mib: int
    splits: int = 10
    total_cores: int = _WHOLE
    is_healthy: bool = True
    tenants: int = 0
    used_mib: int = 0
    used_cores: int = 0

    def refusal(self, ask: VgpuAsk) -> str | None:
        """Return HAMi's name for why one card of the request does not fit here, `None` if it does."""
        cores = ask.cores_taken
        rules = (
            ("CardNotHealth", not self.is_healthy),
            ("CardTimeSlicingExhausted", self.tenants >= self.splits),
            ("CardInsufficientMemory", self.total_mib - self.used_mib < ask.memory_of(self.total_mib)),
            ("CardInsufficientCore", self.total_cores - self.used_cores < cores),
            ("ExclusiveDeviceAllocateConflict", self.total_cores == cores == _WHOLE and self.tenants > 0),
            ("CardComputeUnitsExhausted", self.used_cores == self.total_cores > 0 and cores == 0),
        )
        return next((name for name, applies in rules if applies), None)

    def take(self, ask: VgpuAsk) -> VgpuCard:
        """Return the card after one of the request is taken here; it may not fit, as after an overrun."""
        return replace(
            self,
            tenants=self.tenants + 1,
            used_mib=self.used_mib + ask.memory_of(self.total_mib),
            used_cores=self.used_cores + ask.cores_taken,
        )


def place(cards: Sequence[VgpuCard], ask: VgpuAsk) -> tuple[VgpuCard, ...] | str:
    """Return a node's cards once a request is placed on the first that fit, or HAMi's name for why not."""
    reasons = [card.refusal(ask) for card in cards]
    fitting = [index for index, reason in enumerate(reasons) if reason is None]
    if len(cards) < ask.gpus:
        return "NodeInsufficientDevice"
    if len(fitting) < ask.gpus:
        return next(reason for reason in reasons if reason)
    chosen = set(fitting[: ask.gpus])
    return tuple(card.take(ask) if index in chosen else card for index, card in enumerate(cards))
