"""Keys that an agent has to look at again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Generic, TypeVar

from fleet.errors import ConflictError, UnavailableError
from simulator.clock import Clock

RETRY_S = 0.1
"""Wait before something that failed for now is tried again."""

_KeyT = TypeVar("_KeyT", bound=Hashable)


class WorkQueue(Generic[_KeyT]):
    """Calls `reconcile(key)` once for every key that was added, however often it was added meanwhile.

    A call that fails because the world moved on (`ConflictError`) or did not answer
    (`UnavailableError`) is repeated; reconciling is from scratch, so a repetition does no harm.
    """

    def __init__(self, clock: Clock, reconcile: Callable[[_KeyT], None]) -> None:
        self._clock = clock
        self._reconcile = reconcile
        self._waiting: set[_KeyT] = set()

    def add(self, key: _KeyT, delay_s: float = 0.0) -> None:
        """Have `key` looked at `delay_s` from now, unless that is going to happen anyway."""
        if key not in self._waiting:
            self._waiting.add(key)
            self._clock.after(delay_s, partial(self._run, key))

    def _run(self, key: _KeyT) -> None:
        self._waiting.remove(key)
        try:
            self._reconcile(key)
        except (ConflictError, UnavailableError):
            self.add(key, RETRY_S)
