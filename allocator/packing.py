"""How few cards a set of slices needs when layouts may be chosen freely.

The scheduler places first-fit; this says what that costs, and is the layout to write where
layouts are ours to write.
"""

from __future__ import annotations

from collections.abc import Mapping

from fleet.boards import Board
from fleet.mig import Layout, Placement, free_starts
from fleet.shape import WHOLE


def pack(board: Board, counts: Mapping[str, int]) -> tuple[Layout, ...]:
    """Return legal layouts that hold `counts` (profile or `"whole"` -> instances), fullest cards first opened.

    First-fit decreasing by memory slices, each instance in the start that keeps large slots whole
    (1g from the end downwards). A whole card is a layout without placements. O(instances x cards).
    """
    cards: list[Layout] = []
    by_size = sorted(
        (p for p in board.profiles if counts.get(p.name, 0) > 0),
        key=lambda p: (-p.memory_slices, -p.compute_slices, p.name),
    )
    for profile in by_size:
        for _ in range(counts[profile.name]):
            for index, layout in enumerate(cards):
                starts = free_starts(board, layout, profile.name)
                if starts:
                    cards[index] = layout | {Placement(profile.name, starts[0])}
                    break
            else:
                start = free_starts(board, frozenset(), profile.name)[0]
                cards.append(frozenset({Placement(profile.name, start)}))
    return (*(frozenset[Placement]() for _ in range(counts.get(WHOLE, 0))), *cards)
