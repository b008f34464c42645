"""What it takes to bring a node from one layout to another, and why it may not be done.

If no card's MIG mode changes, mig-parted clears and rebuilds only the cards whose layout differs; if one
changes, every cut card of the node is cleared, and on Ampere all are reset (NVIDIA/mig-parted
cmd/nvidia-mig-parted/apply). Hence modes are never toggled on Ampere, where a reset stops whatever runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from actuator.inventory.layouts import CardLayout
from fleet.boards import Board

_RESETS_ON_TOGGLE = frozenset({"Ampere"})


@dataclass(frozen=True, slots=True)
class CardChange:
    """How one card changes.

    Attributes:
        index: Index of the card in its node.
        before: Instances by profile, `None` = it is whole.
        after: Instances by profile, `None` = it is whole.
    """

    index: int
    before: Mapping[str, int] | None
    after: Mapping[str, int] | None

    @property
    def toggles(self) -> bool:
        """Whether its MIG mode changes."""
        return (self.before is None) != (self.after is None)

    def __str__(self) -> str:
        return f"card {self.index}: {_said(self.before)} -> {_said(self.after)}"


@dataclass(frozen=True, slots=True)
class NodeChange:
    """How a node's layout changes.

    Attributes:
        cards: Cards that become other than they are.
        cleared: Indices of all cards that are cleared on the way: no process may be on any of them.
        frees: What pods hold of those, who have to go first: instances of a profile, `None` = whole cards.
        objections: Why it may not be done; empty = it may.
    """

    cards: tuple[CardChange, ...]
    cleared: tuple[int, ...]
    frees: frozenset[str | None]
    objections: tuple[str, ...]


def change_of(
    board: Board,
    before: Sequence[CardLayout],
    after: Sequence[CardLayout],
    offered: Iterable[str] | None = None,
) -> NodeChange:
    """Return how a node changes, and what speaks against it.

    Args:
        board: What its cards are.
        before: Its cards as they are.
        after: Its cards as they are to be; a card that is not named stays as it is.
        offered: Profiles that the node itself says it has, `None` = it says nothing.
    """
    wanted = {layout.index: layout for layout in after}
    cards = tuple(
        CardChange(old.index, _cut(old), _cut(new))
        for old in before
        if (new := wanted.get(old.index)) is not None and _cut(new) != _cut(old)
    )
    changed, toggles = {card.index for card in cards}, any(card.toggles for card in cards)
    cleared = [old for old in before if old.index in changed or (toggles and not old.is_whole)]
    held: list[Iterable[str | None]] = [[None] if (cut := _cut(old)) is None else cut for old in cleared]
    return NodeChange(
        cards,
        tuple(old.index for old in cleared),
        frozenset(chain.from_iterable(held)),
        tuple(_objections(board, cards, wanted, before, offered)),
    )


def _objections(
    board: Board,
    cards: Iterable[CardChange],
    wanted: Mapping[int, CardLayout],
    before: Sequence[CardLayout],
    offered: Iterable[str] | None,
) -> Iterator[str]:
    there = {layout.index for layout in before}
    missing = sorted(index for index in wanted if index not in there)
    if missing:
        yield f"the node has no card {', '.join(map(str, missing))}"
    known = None if offered is None else frozenset(offered)
    for card in cards:
        if not wanted[card.index].is_legal:
            yield f"card {card.index}: {_said(card.after)} cannot all exist at once on a {board.id}"
        if known is not None and (foreign := sorted(set(card.after or ()) - known)):
            yield f"card {card.index}: the node does not offer {', '.join(foreign)}"
        if card.toggles and board.architecture in _RESETS_ON_TOGGLE:
            yield f"card {card.index}: MIG mode would change, for which {board.architecture} needs a reset"


def _cut(layout: CardLayout) -> Mapping[str, int] | None:
    return None if layout.is_whole else {p: n for p, n in layout.counts.items() if n}


def _said(cut: Mapping[str, int] | None) -> str:
    if cut is None:
        return "whole"
    return (
        " + ".join(f"{count} x {profile}" for profile, count in sorted(cut.items()))
        or "cut, without instances"
    )
