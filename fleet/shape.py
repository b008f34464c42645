"""What one replica runs on, and what carries a workload."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from fleet.boards import Board
from fleet.errors import InputError
from fleet.ledgers.footprint import usable_mib

WHOLE = "whole"

_MIB_PER_GIB = 1024

SHARE_UNITS = 100
"""A share is counted in hundredths of a card, which KAI and HAMi both grant."""

_CARDS = re.compile(r"([1-9]\d?)x")
_SHARE = re.compile(rf"([1-9]\d?)/{SHARE_UNITS}")


@dataclass(frozen=True, slots=True, order=True)
class Shape:
    """Whole GPUs, a MIG profile, or a share of a card of one kind of board.

    How a share is made real, and what it keeps, is up to the workload's mechanism.

    `InputError` for several MIG instances: no peer-to-peer traffic leaves one, so that no engine spans two.

    Attributes:
        board: Id of the board it is cut from.
        profile: MIG profile as the device names it, `"whole"`, or hundredths of a card, as `"55/100"`.
        cards: Whole cards of one NVLink domain over which the model is spread (tensor parallelism).
    """

    board: str
    profile: str = WHOLE
    cards: int = 1

    def __post_init__(self) -> None:
        if self.cards != 1 and not (self.is_whole and self.cards > 1):
            problem = "one replica cannot span several MIG instances or shares, nor less than one card"
            raise InputError(problem, where=f"shape {self}", fix="use one of them or whole cards")

    @property
    def is_whole(self) -> bool:
        """Whether it is made of uncut cards."""
        return self.profile == WHOLE

    @property
    def is_one_card(self) -> bool:
        """Whether it is one uncut card: every other shape's speed is told from that by a law of its own."""
        return self.is_whole and self.cards == 1

    @property
    def hundredths(self) -> int:
        """Hundredths of a card that a share takes; 0 for whole cards and instances."""
        match = _SHARE.fullmatch(self.profile)
        return int(match[1]) if match else 0

    @property
    def name(self) -> str:
        """What it is called beside others of its board: `whole`, `2x` for two cards, or the profile."""
        return self.profile if self.cards == 1 else f"{self.cards}x"

    def __str__(self) -> str:
        return f"{self.board}:{self.name}"


def share_of(board: Board, hundredths: int) -> Shape:
    """Return the share of so many hundredths of a card; `InputError` outside 1..99."""
    shape = Shape(board.id, f"{hundredths}/{SHARE_UNITS}")
    if not shape.hundredths:
        fix = "take 1 to 99; 100 is the whole card"
        raise InputError(f"no share of {hundredths} hundredths", where=f"board {board.id}", fix=fix)
    return shape


def shape_named(board: Board, name: str) -> Shape:
    """Return the shape that a person calls `name`: `whole`, `1x`, `2x`, `55/100`, or a profile of the board.

    `InputError` naming the profiles if it is none of these.
    """
    if match := _CARDS.fullmatch(name):
        return Shape(board.id, cards=int(match[1]))
    if match := _SHARE.fullmatch(name):
        return share_of(board, int(match[1]))
    return Shape(board.id) if name == WHOLE else Shape(board.id, board.profile(name).name)


TIME_SLICES = (2, 3, 4, 5, 6, 7, 8, 10)
"""How often cards are offered where foreslice reckons with time slices: each comes to another share."""


SHARE_SIZES = {
    "time-slicing": tuple(SHARE_UNITS // replicas for replicas in TIME_SLICES),
    "dra-shares": (10, 20, 25, 33, 50, 75),
}
"""Shares with which foreslice reckons, in hundredths of a card, by the mechanism that makes them real."""


def time_slice(board: Board, replicas: int) -> Shape:
    """Return what a tenant may count on of a card that is offered so many times, all in use.

    `InputError` for less than two of them, or more than a hundred.
    """
    return share_of(board, SHARE_UNITS // replicas)


@dataclass(frozen=True, slots=True)
class Slice:
    """The hardware behind a shape.

    Attributes:
        shape: The shape described.
        sm: Streaming multiprocessors.
        sm_share: Share of a board's multiprocessors, 0..1, or the number of cards.
        bandwidth_share: Share of a board's memory bandwidth, 0..1, or the number of cards.
        memory_gib: Memory in GiB.
        gpu_share: What it costs in cards: the larger of its compute and memory share.
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
    MIG user guide, and fits of public vLLM-on-MIG measurements (NEWSLabNTU/Delta-HPC). A share has its part
    of everything, of memory without what the driver keeps: what it may count on while the card's other
    shares are busy too. How unevenly time is dealt is the mechanism's contention, not the shape's.
    """
    if shape.hundredths:
        part = shape.hundredths / SHARE_UNITS
        memory_gib = usable_mib(round(board.memory_gib * _MIB_PER_GIB)) * part / _MIB_PER_GIB
        return Slice(shape, round(board.sm * part), part, part, memory_gib, part)
    if shape.is_whole:
        n = shape.cards
        return Slice(shape, n * board.sm, n, n, n * board.memory_gib, n)
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
    """Return every shape that one card of `board` offers, the whole card first.

    Of profiles that differ in media engines or graphics only, which no language model uses, the first is
    taken; those with the media extension are left out, a card has only one.
    """
    plain: dict[tuple[int, int], str] = {}
    for profile in board.profiles:
        if not profile.media_extension:
            plain.setdefault((profile.memory_slices, profile.sm), profile.name)
    return (Shape(board.id), *(Shape(board.id, name) for name in plain.values()))


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
        return " + ".join(f"{n} x {s.name}" for s, n in self.counts.items()) or "nothing"


NOTHING = Configuration()
