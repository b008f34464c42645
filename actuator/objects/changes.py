"""What came and went between two readings of a list of objects: only that has to be looked at again."""

from __future__ import annotations

from collections.abc import Iterable

from actuator.manifest import Json


class Changes:
    """Follows one list of objects from reading to reading.

    Objects are told by identity, which holds as nobody changes one in place. They are kept, so that none that
    comes has the identity of one that went.
    """

    def __init__(self) -> None:
        self._held: dict[int, Json] = {}

    def since(self, bodies: Iterable[Json]) -> tuple[list[Json], list[Json]]:
        """Return what is no longer in the list, then what is new in it; what was replaced is in both."""
        now = {id(body): body for body in bodies}
        before, self._held = self._held, now
        if before.keys() == now.keys():
            return [], []
        gone = [body for mark, body in before.items() if mark not in now]
        return gone, [body for mark, body in now.items() if mark not in before]
