"""What one replica runs on, and what carries a workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleet.boards import Board

WHOLE = "whole"


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """A whole GPU or a MIG profile of one kind of board.

    Attributes:
        board: Id of the board it is cut from.
        profile: MIG profile as the device names it, or `"whole"`.
    """

    board: str
    profile: str = WHOLE

    @property
    def is_whole(self) -> bool:
        """Whether it is an uncut card."""
        return self.profile == WHOLE

    def __str__(self) -> str:
        return f"{self.board}:{self.profile}"


@dataclass(frozen=True, slots=True)
class Slice:
    """The hardware behind a shape.

    Attributes:
        shape: The shape described.
        sm: Streaming multiprocessors.
        sm_share: Share of the board's multiprocessors, 0..1.
        bandwidth_share: Share of the board's memory bandwidth, 0..1.
        memory_gib: Memory in GiB.
        gpu_share: What it costs of a card: the larger of its compute and memory share.
    """

    shape: Shape
    sm: int
    sm_share: float
    bandwidth_share: float
    memory_gib: float
    gpu_share: float


def slice_of(board: Board, shape: Shape) -> Slice:
    """Return the hardware behind `shape` on `board`; `InputError` if the board has no such profile.

    Bandwidth follows memory slices, compute follows multiprocessors (not the "g" of the name):
    MIG user guide, and fits of public vLLM-on-MIG measurements (NEWSLabNTU/Delta-HPC).
    """
    if shape.is_whole:
        return Slice(shape, board.sm, 1.0, 1.0, board.memory_gib, 1.0)
    profile = board.profile(shape.profile)
    memory_share = profile.memory_slices / board.grid
    return Slice(
        shape=shape,
        sm=profile.sm,
        sm_share=profile.sm / board.sm,
        bandwidth_share=memory_share,
        memory_gib=profile.memory_gib,
        gpu_share=max(profile.sm / board.sm, memory_share),
    )


def shapes_of(board: Board) -> tuple[Shape, ...]:
    """Return every shape that `board` offers, whole card first; media-extension profiles are left out.

    A media extension buys decoders, which no language model uses, and a card has only one.
    """
    profiles = (Shape(board.id, p.name) for p in board.profiles if not p.media_extension)
    return (Shape(board.id), *profiles)


@dataclass(frozen=True, slots=True)
class Configuration:
    """Counts of shapes that carry a workload; shapes with a count of zero are left out."""

    counts: Mapping[Shape, int] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", {s: n for s, n in sorted(self.counts.items()) if n > 0})

    def __iter__(self) -> Iterator[Shape]:
        return iter(self.counts)

    @property
    def replicas(self) -> int:
        """Number of replicas."""
        return sum(self.counts.values())

    def plus(self, shape: Shape, n: int) -> Configuration:
        """Return the configuration with `n` more (or fewer, if negative) replicas of `shape`."""
        return Configuration({**self.counts, shape: self.counts.get(shape, 0) + n})

    def __str__(self) -> str:
        return " + ".join(f"{n} x {s.profile}" for s, n in self.counts.items()) or "nothing"
