"""Time that passes only when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Protocol


class Clock(Protocol):
    """What an agent may ask of time, virtual or real. Actions never run inside the call that orders them."""

    @property
    def now_s(self) -> float:
        """Seconds since the epoch."""
        ...

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        """Run `action` once, `delay_s` from now."""
        ...


class VirtualClock:
    """Runs actions at their times, in the order in which they were ordered where times are equal."""

    def __init__(self, start_s: float) -> None:
        self._now_s = start_s
        self._order = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    @property
    def now_s(self) -> float:
        """Seconds since the epoch."""
        return self._now_s

    def at(self, when_s: float, action: Callable[[], None]) -> None:
        """Run `action` once at `when_s`; a time that has passed is now."""
        heappush(self._due, (max(when_s, self._now_s), next(self._order), action))

    def after(self, delay_s: float, action: Callable[[], None]) -> None:
        """Run `action` once, `delay_s` from now."""
        self.at(self._now_s + delay_s, action)

    def next_due_s(self) -> float | None:
        """Return when the next action is due, `None` if nothing is."""
        return self._due[0][0] if self._due else None

    def run_until(self, until_s: float) -> None:
        """Run everything due up to and including `until_s`, what that orders too, and make it now.

        Raises `ValueError` for a time that has passed.
        """
        if until_s < self._now_s:
            raise ValueError(f"time does not run backwards: {until_s} is before {self._now_s}")
        while self._due and self._due[0][0] <= until_s:
            self._now_s, _, action = heappop(self._due)
            action()
        self._now_s = until_s
