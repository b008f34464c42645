"""MIG geometry: which GPU instances fit on one board together, and where to put the next.

A board is a row of memory slices. An instance covers a run of them from one of the starts that its
profile offers, and none may be covered twice (NVML `nvmlGpuInstancePlacement_t`: creation fails on
overlap). Besides, a board has one media extension and a number of compute slices to share, and on some
boards decoders run out first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from fleet.boards import Board
from fleet.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class Placement:
    """One instance on a board: a profile and the grid unit at which it begins."""

    profile: str
    start: int

    def __str__(self) -> str:
        return f"{self.profile}@{self.start}"


Layout: TypeAlias = frozenset[Placement]

# A fleet holds few kinds of board, and few sets of profiles are asked for on each.
_CACHED_QUESTIONS = 256


class _Claim(NamedTuple):
    """What instances hold: a bit for each exclusive unit, compute slices, and decoders."""

    exclusive: int
    compute_slices: int
    decoders: int


_NOTHING = _Claim(0, 0, 0)


def mask(board: Board, placement: Placement) -> int:
    """Return the grid units that a placement covers, bit i for unit i; `InputError` on unknown profile."""
    return ((1 << board.profile(placement.profile).memory_slices) - 1) << placement.start


def illegality(board: Board, layout: Iterable[Placement]) -> str | None:
    """Return the rule that a layout breaks, in one line; `None` if it is legal. The empty layout is."""
    held: list[Placement] = []
    for placement in sorted(layout):
        try:
            starts = board.profile(placement.profile).starts
        except InputError as error:
            return str(error)
        if placement.start not in starts:
            offered = " or ".join(str(start) for start in starts)
            return f"board {board.id}: {placement} is not offered, {placement.profile} starts at {offered}"
        for other in held:
            if mask(board, other) & mask(board, placement):
                return f"board {board.id}: {other} and {placement} overlap"
            if _claim(board, other).exclusive & _claim(board, placement).exclusive:
                return f"board {board.id}: {other} and {placement} both hold the only media extension"
        held.append(placement)
    return _shortage(board, _held(board, held))


def is_legal(board: Board, layout: Iterable[Placement]) -> bool:
    """Return whether all instances of a layout can exist at once."""
    return illegality(board, layout) is None


def placed_layouts(board: Board, profiles: Sequence[str] | None = None) -> frozenset[Layout]:
    """Return every legal layout but the empty one, of all profiles or of those named."""
    return _placed_layouts(board, _names(board, profiles))


def maximal_layouts(board: Board, profiles: Sequence[str] | None = None) -> frozenset[Layout]:
    """Return the legal layouts to which no instance (of those profiles) can be added."""
    return _maximal_layouts(board, _names(board, profiles))


def undominated_counts(board: Board, profiles: Sequence[str] | None = None) -> frozenset[tuple[int, ...]]:
    """Return the legal counts, in the order of `profiles`, that no other legal counts reach in every entry.

    Counts are legal exactly if they are at most one of these in every entry.
    """
    return _undominated_counts(board, _names(board, profiles))


def free_starts(board: Board, layout: Layout, profile: str) -> tuple[int, ...]:
    """Return where an instance can be added, the start that keeps most large slots whole first.

    On an empty 8-wide board 1g goes to 6, 5, 4, ...; where a large slot is already broken, its rest is
    used up first. (The first fit of kube-scheduler does the opposite: a 1g at 0 costs the only 4g.)
    """
    held = _held(board, layout)

    def whole_slots_left(start: int) -> tuple[tuple[int, ...], int]:
        return _room(board, _sum(held, _claim(board, Placement(profile, start)))), start

    starts = board.profile(profile).starts
    free = [start for start in starts if _fits(board, held, _claim(board, Placement(profile, start)))]
    return tuple(sorted(free, key=whole_slots_left, reverse=True))


def realise(board: Board, counts: Mapping[str, int], keep: Layout = frozenset()) -> Layout | None:
    """Return the legal layout with exactly these counts that shares most placements with `keep`.

    Among equals the one that keeps most large slots whole; `None` if the counts do not fit.
    Unknown profile: `InputError`. Complexity: linear in the layouts with these counts (at most
    hundreds); they are found once per board and set of profiles.
    """
    wanted = {board.profile(name).name: count for name, count in counts.items() if count != 0}
    if not wanted:
        return frozenset()
    names = tuple(profile.name for profile in board.profiles if profile.name in wanted)
    candidates = _layouts_by_counts(board, names).get(tuple(wanted[name] for name in names), ())
    return max(candidates, key=lambda layout: len(layout & keep), default=None)


@lru_cache(maxsize=_CACHED_QUESTIONS)
def _placed_layouts(board: Board, names: tuple[str, ...]) -> frozenset[Layout]:
    return frozenset(_extensions(board, _placements(board, names), frozenset(), _NOTHING))


@lru_cache(maxsize=_CACHED_QUESTIONS)
def _maximal_layouts(board: Board, names: tuple[str, ...]) -> frozenset[Layout]:
    claims = [_claim(board, placement) for placement in _placements(board, names)]

    def is_full(layout: Layout) -> bool:
        held = _held(board, layout)
        return not any(_fits(board, held, claim) for claim in claims)

    return frozenset(filter(is_full, _placed_layouts(board, names)))


@lru_cache(maxsize=_CACHED_QUESTIONS)
def _undominated_counts(board: Board, names: tuple[str, ...]) -> frozenset[tuple[int, ...]]:
    # A layout that can be added to is dominated by the larger one, so maximal ones are all that matter.
    legal = {_counts(layout, names) for layout in _maximal_layouts(board, names)}

    def is_dominated(counts: tuple[int, ...]) -> bool:
        return any(
            counts != other and all(n <= m for n, m in zip(counts, other, strict=True)) for other in legal
        )

    return frozenset(counts for counts in legal if not is_dominated(counts))


@lru_cache(maxsize=_CACHED_QUESTIONS)
def _layouts_by_counts(board: Board, names: tuple[str, ...]) -> Mapping[tuple[int, ...], list[Layout]]:
    """Layouts by their counts, each list with the one that keeps most large slots whole first."""

    def preference(layout: Layout) -> tuple[tuple[int, ...], list[Placement]]:
        return _room(board, _held(board, layout)), sorted(layout)

    found: dict[tuple[int, ...], list[Layout]] = {}
    for layout in sorted(_placed_layouts(board, names), key=preference, reverse=True):
        found.setdefault(_counts(layout, names), []).append(layout)
    return found


def _extensions(
    board: Board, placements: Sequence[Placement], layout: Layout, held: _Claim
) -> Iterator[Layout]:
    """Yield every legal layout that adds one or more of `placements` to a layout, each once."""
    for tried, placement in enumerate(placements, start=1):
        claim = _claim(board, placement)
        if _fits(board, held, claim):
            larger = layout | {placement}
            yield larger
            yield from _extensions(board, placements[tried:], larger, _sum(held, claim))


@lru_cache(maxsize=_CACHED_QUESTIONS)
def _claims_by_width(board: Board) -> tuple[tuple[_Claim, ...], ...]:
    """What each instance would claim, grouped by profile, widest profile first."""
    widest_first = sorted(board.profiles, key=lambda p: (p.memory_slices, p.compute_slices), reverse=True)
    return tuple(
        tuple(_claim(board, placement) for placement in _placements(board, (profile.name,)))
        for profile in widest_first
    )


def _room(board: Board, held: _Claim) -> tuple[int, ...]:
    """How many placements of each profile are still free, widest profile first: greater is better."""
    return tuple(sum(_fits(board, held, claim) for claim in claims) for claims in _claims_by_width(board))


def _shortage(board: Board, held: _Claim) -> str | None:
    if held.compute_slices > board.compute_slices:
        return f"board {board.id}: {held.compute_slices} compute slices held, it has {board.compute_slices}"
    if board.decoders is not None and held.decoders > board.decoders:
        return f"board {board.id}: {held.decoders} decoders held, it has {board.decoders}"
    return None


def _fits(board: Board, held: _Claim, claim: _Claim) -> bool:
    return not held.exclusive & claim.exclusive and _shortage(board, _sum(held, claim)) is None


def _claim(board: Board, placement: Placement) -> _Claim:
    profile = board.profile(placement.profile)
    # The media extension is one more unit that a single instance can hold: the bit after the grid.
    media_extension = profile.media_extension << board.grid
    return _Claim(mask(board, placement) | media_extension, profile.compute_slices, profile.engines.decoder)


def _sum(held: _Claim, claim: _Claim) -> _Claim:
    return _Claim(
        held.exclusive | claim.exclusive,
        held.compute_slices + claim.compute_slices,
        held.decoders + claim.decoders,
    )


def _held(board: Board, layout: Iterable[Placement]) -> _Claim:
    held = _NOTHING
    for placement in layout:
        held = _sum(held, _claim(board, placement))
    return held


def _names(board: Board, profiles: Sequence[str] | None) -> tuple[str, ...]:
    return tuple(profile.name for profile in board.profiles) if profiles is None else tuple(profiles)


def _placements(board: Board, names: Sequence[str]) -> list[Placement]:
    return [Placement(name, start) for name in names for start in board.profile(name).starts]


def _counts(layout: Layout, names: Sequence[str]) -> tuple[int, ...]:
    count = Counter(placement.profile for placement in layout)
    return tuple(count[name] for name in names)
