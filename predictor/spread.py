"""Where independent pieces of work are done: here, or wherever else they come to the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Shared = TypeVar("Shared")
Result = TypeVar("Result")


class Spread(Protocol):
    """Does the same to many items, in any order and place, any of them more than once if a place is lost."""

    def __call__(
        self, work: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared
    ) -> list[Result]:
        """Return what `work(item, shared)` comes to for each item, in their order.

        Args:
            work: A function of a module, without side effects: the same for the same item.
            items: What differs from piece to piece.
            shared: What all of them need, sent to a place once.
        """


def here(work: Callable[[Item, Shared], Result], items: Sequence[Item], shared: Shared) -> list[Result]:
    """Do it one by one in this process."""
    return [work(item, shared) for item in items]
