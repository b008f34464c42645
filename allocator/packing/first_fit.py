"""How few cards a set of slices needs when layouts may be chosen freely.

The scheduler places first-fit; this says what that costs, and is the layout to write where
layouts are ours to write.
"""

from __future__ import annotations

from collections.abc import Mapping

from fleet.boards import Board
from fleet.errors import InputError
from fleet.mig import Layout, Placement, free_starts
from fleet.shape import WHOLE


def pack(board: Board, counts: Mapping[str, int]) -> tuple[Layout, ...]:
    """Return legal layouts that hold `counts` (profile or `"whole"` -> instances).

    First-fit decreasing by memory slices, each instance in the start that keeps large slots whole
    (1g from the end downwards). A whole card is a layout without placements. `InputError` for a profile
    that the board does not have, or that fits on no card of it. O(profiles x cards + instances).
    """
    cards: list[Layout] = []
    largest_first = sorted(
        (board.profile(name) for name, wanted in counts.items() if wanted > 0 and name != WHOLE),
        key=lambda profile: (-profile.memory_slices, -profile.compute_slices, profile.name),
    )
    for profile in largest_first:
        left, card = counts[profile.name], 0
        while left:
            if card == len(cards):
                cards.append(frozenset())
            starts = free_starts(board, cards[card], profile.name)
            if starts:
                cards[card] |= {Placement(profile.name, starts[0])}
                left -= 1
            elif cards[card]:
                card += 1
            else:
                raise InputError(
                    f"profile {profile.name} fits on no card",
                    where=f"board {board.id}",
                    fix="correct the geometry",
                )
    return (*(frozenset[Placement]() for _ in range(counts.get(WHOLE, 0))), *cards)
