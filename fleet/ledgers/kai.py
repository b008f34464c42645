"""What KAI-Scheduler grants of a card and charges for it, in its own double arithmetic.

Three roundings meet here. A card has the memory of its node's label, down to full 100 MiB; a share fits
by whole MiB of that. A queue is asked for the share rounded up to hundredths of a card. A bound pod then
counts with its share rounded to the nearest hundredth. Sources: kai-scheduler/KAI-Scheduler (v0.17),
pkg/scheduler/api/node_info/{node_info,gpu_sharing_node_info}.go, .../resource_info/
gpu_resource_requirment.go, .../common_info/resources/mig.go; seen with the real scheduler at d5bc503a.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fleet.errors import InputError
from fleet.ledgers.footprint import usable_mib

_MIB = 1 << 20
_STEP_MIB = 100
_GRID = 100
_MIG_RESOURCE = re.compile(r"nvidia\.com/mig-(\d+)g\.(\d+)gb")


def card_mib(label: int) -> int:
    """Return the MiB that KAI takes a card to have, from the label `nvidia.com/gpu.memory`.

    The label is in MiB; older feature discovery wrote bytes, which a value of a TiB and more shows.
    """
    mib = label // _MIB if label >= _MIB else label
    return mib - mib % _STEP_MIB


@dataclass(frozen=True, slots=True)
class Share:
    """Part of one card, or the same part of several cards of one node; `InputError` if it is none.

    Attributes:
        portion: Share of each card (`gpu-fraction`), above 0 and below 1; 0 where memory is asked for.
        memory_mib: MiB of each card (`gpu-memory`); 0 where a portion is asked for.
        devices: Number of cards (`gpu-fraction-num-devices`).
    """

    portion: float = 0.0
    memory_mib: int = 0
    devices: int = 1

    def __post_init__(self) -> None:
        if (self.portion == 0) == (self.memory_mib == 0):
            problem, fix = "a share is a portion or an amount of memory", "give exactly one of them"
        elif not 0 <= self.portion < 1 or self.memory_mib < 0:  # NaN too is not in the range
            problem, fix = (
                f"share {self.portion or self.memory_mib} is out of range",
                "give 0.01 to 0.99, or MiB",
            )
        elif self.devices < 1:
            problem, fix = f"a share of {self.devices} cards", "give 1 card or more"
        else:
            return
        raise InputError(problem, where="KAI share", fix=fix)

    def mib_of(self, card: int) -> int:
        """Return the MiB that it holds of each card of `card` MiB (as of `card_mib`)."""
        return self.memory_mib or int(self.portion * card)

    def limit_mib(self, label: int) -> int:
        """Return the MiB that HAMi's library keeps it to in KAI's mode HamiCore, of the uncut label."""
        return int(self.portion_of(card_mib(label)) * label)

    def portion_of(self, card: int) -> float:
        """Return its portion of each card once bound: memory up to full hundredths, a portion as asked."""
        return _up(self.memory_mib, card) if self.memory_mib else self.portion


@dataclass(frozen=True, slots=True)
class Cards:
    """Whole cards."""

    count: int


@dataclass(frozen=True, slots=True)
class Instances:
    """MIG instances by resource name, e.g. `nvidia.com/mig-1g.10gb`."""

    counts: Mapping[str, int] = field(hash=False)


Ask = Share | Cards | Instances


def asked_gpus(ask: Ask, card: int) -> float:
    """Return the GPUs that a queue is asked for before a pod is bound; `card` is as of `card_mib`."""
    if isinstance(ask, Share):
        return ask.devices * _up(ask.mib_of(card), card)
    return bound_gpus(ask, card)


def bound_gpus(ask: Ask, card: int) -> float:
    """Return the GPUs that a bound pod counts with in its queue; `card` is as of `card_mib`.

    An instance `Ng` counts as N cards. Names with a suffix (`.me`, `.gfx`) are not understood and count 0.
    """
    if isinstance(ask, Cards):
        return float(ask.count)
    if isinstance(ask, Instances):
        found = ((_MIG_RESOURCE.fullmatch(name), count) for name, count in ask.counts.items())
        return float(sum(int(match[1]) * count for match, count in found if match))
    # Go's math.Round takes halves away from zero, Python's round to even.
    return math.floor(ask.portion_of(card) * _GRID + 0.5) * ask.devices / _GRID


def _up(mib: int, card: int) -> float:
    return math.ceil(mib / card * _GRID) / _GRID


@dataclass(frozen=True, slots=True)
class Card:
    """One card and the MiB that its tenants hold.

    Attributes:
        mib: Size, as of `card_mib`.
        held: MiB of each tenant, in the order in which they were bound.
    """

    mib: int
    held: tuple[int, ...] = ()

    def fits(self, share: Share) -> bool:
        """Return whether KAI would put the share on this card."""
        return sum(self.held) + share.mib_of(self.mib) <= self.mib

    def take(self, share: Share) -> Card:
        """Return the card after the share is bound; it may not fit, as on a card that was overrun."""
        return replace(self, held=(*self.held, share.mib_of(self.mib)))


def hundredths_for(need_mib: int, label_mib: int) -> int | None:
    """Return the least share, in hundredths, with room for `need_mib`; `None` if that is a whole card.

    Only the hundredths are written: off that grid a queue is charged more than a pod gets.
    """
    hundredths = max(1, -(-need_mib * _GRID // usable_mib(label_mib)))
    return hundredths if hundredths < _GRID else None


def binding_order(shares: Iterable[Share], card: int) -> list[Share]:
    """Return shares in the order in which most fit a queue: first what is asked more than it counts."""
    return sorted(shares, key=lambda share: bound_gpus(share, card) - asked_gpus(share, card))


def cards_needed(shares: Sequence[Share], card: int) -> int:
    """Return how many empty cards hold the shares, first-fit decreasing; `InputError` if one fits on none."""
    cards: list[Card] = []
    for share in sorted(shares, key=lambda share: -share.mib_of(card)):
        fitting = [index for index, held in enumerate(cards) if held.fits(share)]
        fresh = [Card(card)] * max(0, share.devices - len(fitting))
        if fresh and not fresh[0].fits(share):
            raise InputError(
                f"{share.mib_of(card)} MiB do not fit on a card of {card} MiB",
                where="KAI share",
                fix="ask for less, or for whole cards",
            )
        for index in fitting[: share.devices]:
            cards[index] = cards[index].take(share)
        cards += [held.take(share) for held in fresh]
    return len(cards)
