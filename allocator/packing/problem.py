"""What packing is asked: cards to cut, workloads to carry, limits to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fleet.boards import Board
from fleet.host import NOTHING, HostAmount
from fleet.mig import undominated_counts
from fleet.shape import SHARE_UNITS, Configuration, Shape, share_of
from fleet.workload import Limits, Router, WorkloadKey

Cut = tuple[int, ...]
"""What a card is cut into, a count for each of `Stock.pieces`; or the cards that one replica spans."""


@dataclass(frozen=True)
class Stock:
    """Cards of one kind in one fault domain.

    Attributes:
        board: Kind of card.
        domain: Fault domain, e.g. a zone.
        price: Cost of using one card, in whatever unit all stocks share.
        cards: How many there are, `None` = as many as are asked for.
        spans: Sizes of replicas over several whole cards of one NVLink domain, e.g. 2, 4, 8.
        slices: Sizes of time slices on offer, in hundredths of a card; a card gives slices of one size.
        shares: Sizes of shares on offer, in hundredths of a card; a card may give any together.
        profiles: MIG profiles that may be cut, `None` = all without a media extension.
        cut: Cards in use by what they are cut into now.
        host: What their nodes have for replicas beside cards, `None` = more than enough.
    """

    board: Board
    domain: str = ""
    price: float = 1.0
    cards: int | None = None
    spans: tuple[int, ...] = ()
    slices: tuple[int, ...] = ()
    shares: tuple[int, ...] = ()
    profiles: tuple[str, ...] | None = None
    cut: Mapping[Cut, int] = field(default_factory=dict, hash=False)
    host: HostAmount | None = None

    @cached_property
    def pieces(self) -> tuple[Shape, ...]:
        """What its cards can give: whole cards, several at once, then MIG profiles, time slices, shares."""
        return (
            Shape(self.board.id),
            *(Shape(self.board.id, cards=cards) for cards in self.spans),
            *(Shape(self.board.id, name) for name in self._profiles),
            *(share_of(self.board, share) for share in self._parts),
        )

    @cached_property
    def cuts(self) -> tuple[Cut, ...]:
        """Whole cards, alone and together, counts of full MIG layouts, and cards shared in equal parts."""
        mig = sorted(undominated_counts(self.board, self._profiles), reverse=True)
        before, after = (0,) * (1 + len(self.spans)), (0,) * len(self._parts)
        uncut = np.eye(len(before), len(self.pieces), dtype=np.int64).tolist()
        return (
            *(tuple(cut) for cut in uncut),
            *((*before, *counts, *after) for counts in mig),
            *self._even,
        )

    @property
    def _parts(self) -> tuple[int, ...]:
        return (*self.slices, *self.shares)

    @cached_property
    def _even(self) -> tuple[Cut, ...]:
        """Cards in equal parts: all there is of time slices; other mixtures of shares are found by price."""
        rest = len(self.pieces) - len(self._parts)
        sizes = np.eye(len(self._parts), dtype=np.int64)
        even = [SHARE_UNITS // part * size for part, size in zip(self._parts, sizes, strict=True)]
        return tuple((*(0,) * rest, *counts.tolist()) for counts in even)

    def cards_of(self, cut: Cut) -> int:
        """Return how many cards a cut takes: one, but for replicas that span several."""
        taken = [piece.cards for piece, n in zip(self.pieces, cut, strict=True) if n]
        return max(taken, default=1)

    @cached_property
    def _profiles(self) -> tuple[str, ...]:
        if self.profiles is not None:
            return self.profiles
        return tuple(p.name for p in self.board.profiles if not p.media_extension)


@dataclass(frozen=True, slots=True)
class Ask:
    """One workload, as packing sees it.

    Attributes:
        key: Which.
        work: Work that must be carried, in full reference replicas.
        works: Work that one replica of each shape on offer carries.
        router: Rule by which replicas add up.
        limits: Bounds on replicas.
        is_spread: Replicas are dealt out evenly over the fault domains, at least one to each of two.
        queues: Queues whose limits it counts against.
        penalty: Cost of one unit of work that stays uncarried; what the tiers differ in.
        now: What it runs on, by fault domain.
        host: What one replica takes of a node beside its device.
        closed: Nodes that its pods are not put on.
    """

    key: WorkloadKey
    work: float
    works: Mapping[Shape, float] = field(hash=False)
    router: Router = Router.LEAST_LOADED
    limits: Limits = field(default_factory=Limits)
    is_spread: bool = False
    queues: tuple[str, ...] = ()
    penalty: float = 100.0
    now: Mapping[str, Configuration] = field(default_factory=dict, hash=False)
    host: HostAmount = NOTHING
    closed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything that a packing depends on.

    Attributes:
        stocks: Cards, each kind and fault domain once.
        asks: Workloads, each once.
        queues: GPUs that each queue may be charged, as KAI counts them.
        recut: Cost of cutting one more card otherwise than it is now.
        restart: Cost of one replica that is not running yet.
    """

    stocks: tuple[Stock, ...]
    asks: tuple[Ask, ...]
    queues: Mapping[str, float] = field(default_factory=dict, hash=False)
    recut: float = 0.0
    restart: float = 0.0


def is_whole(problem: Problem) -> bool:
    """Return whether costs are whole cards: all cards cost the same, and nothing else costs."""
    return len({stock.price for stock in problem.stocks}) == 1 and not (problem.recut or problem.restart)
