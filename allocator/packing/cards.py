"""Cards with what sits on them, and how broken their free room is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from fleet.boards import Board
from fleet.mig import Layout, Placement, free_starts
from fleet.shape import Shape
from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True, order=True)
class Seat:
    """Room for one replica on a card.

    Attributes:
        shape: What a replica on it runs on.
        start: Grid unit of a MIG instance; a running number for shares of one card, and for the cards of a
            replica over several.
    """

    shape: Shape
    start: int = 0

    @property
    def is_mig(self) -> bool:
        """Whether it is a MIG instance, neither a share nor a whole card."""
        return not (self.shape.is_whole or self.shape.hundredths)

    @property
    def is_part(self) -> bool:
        """Whether it is a further card of a replica over several; the first one stands for the replica."""
        return self.shape.cards > 1 and self.start > 0

    def __str__(self) -> str:
        return f"{self.shape.name}@{self.start}"


@dataclass(frozen=True)
class Card:
    """One card as it is cut, and who sits where.

    Attributes:
        uuid: As the driver publishes it.
        stock: Index of its stock in the problem.
        seats: Tenant by seat, `None` = the seat is cut and free.
        node: Node that holds it, whose cards are joined by NVLink.
    """

    uuid: str
    stock: int
    seats: Mapping[Seat, WorkloadKey | None]
    node: str = ""

    @cached_property
    def held(self) -> Mapping[Seat, WorkloadKey]:
        """Tenants by seat, of the seats that are taken."""
        return {seat: tenant for seat, tenant in self.seats.items() if tenant is not None}

    @cached_property
    def layout(self) -> Layout | None:
        """MIG layout of the seats that are taken, `None` where they are shares or whole cards."""
        return layout_of(self.held) if all(seat.is_mig for seat in self.held) else None

    @property
    def is_used(self) -> bool:
        """Whether anyone sits on it."""
        return bool(self.held)


def layout_of(seats: Iterable[Seat]) -> Layout:
    """Return the MIG layout of seats."""
    return frozenset(Placement(seat.shape.profile, seat.start) for seat in seats)


def fragmentation(board: Board, layout: Layout, mix: tuple[tuple[str, float], ...]) -> float:
    """Return the memory slices left on a card that the next workload cannot use, expected over `mix`.

    `mix` holds the chance of each profile to be asked for next. A profile that fits nowhere any more cannot
    use any of what is left (expected fragmentation of FGD, USENIX ATC 2023, on MIG slices).
    """
    return _fragmentation(board, layout, mix)


@lru_cache(maxsize=4096)
def _fragmentation(board: Board, layout: Layout, mix: tuple[tuple[str, float], ...]) -> float:
    left = board.grid - sum(board.profile(placement.profile).memory_slices for placement in layout)
    return left * sum(chance for name, chance in mix if not free_starts(board, layout, name))
