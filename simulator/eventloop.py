"""Real time for agents: what they order runs at its time, one action at a time, on one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from threading import Condition


class EventLoop:
    """Implements `simulator.clock.Clock` on the machine's time. Actions may be ordered from any thread.

    The machine's time is read once; from then on its monotonic clock counts, so that an action that was
    ordered later never runs earlier because someone set the time.

    Args:
        faster: Seconds that pass here in one of the machine's.
    """

    def __init__(self, faster: float = 1.0) -> None:
        self._faster = faster
        self._epoch_s = time.time() - faster * time.monotonic()  # noqa: TID251  this is a clock
        self._order = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._changed = Condition()
        self._is_stopped = False

    @property
    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._epoch_s + self._faster * time.monotonic()

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        """Run `action` once, `delay_s` from now."""
        with self._changed:
            heappush(self._due, (self.now_s + delay_s, next(self._order), action))
            self._changed.notify()

    def run(self) -> None:
        """Run actions until `stop` is called; what an action raises ends the run and is raised here."""
        while (action := self._next()) is not None:
            action()

    def stop(self) -> None:
        """Let `run` return after the action that it is running; what is due later never runs."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next action that is due, and take it; `None` once stopped."""
        with self._changed:
            while not self._is_stopped:
                wait_s = self._due[0][0] - self.now_s if self._due else None
                if wait_s is not None and wait_s <= 0:
                    return heappop(self._due)[2]
                self._changed.wait(None if wait_s is None else wait_s / self._faster)
            return None
