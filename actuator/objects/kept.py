"""What was made of objects the last time: it is made anew only where one of them is not what it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")


class Kept:
    """Calls functions whose results depend on their arguments alone, and keeps the last result of each.

    Two lists of the same objects are compared by identity first, so that what did not change costs next to
    nothing. What is returned is shared by all who ask, and changed by none.
    """

    def __init__(self) -> None:
        self._made: dict[Callable[..., object], tuple[object, object]] = {}

    def of(self, make: Callable[P, T], *parts: P.args, **named: P.kwargs) -> T:
        """Return what `make` makes of these parts: the last time if they are equal."""
        held = self._made.get(make)
        if held is None or held[0] != (parts, named):
            held = self._made[make] = (parts, named), make(*parts, **named)
        return cast("T", held[1])
