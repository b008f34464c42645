"""The learned rung of one workload over time: trained elsewhere, caught up, and used where it has won."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Protocol

import numpy as np

from fleet.workload import WorkloadKey
from predictor.forecasters.base import Row
from predictor.forecasters.learned import HELD_OUT_S, LEARNED, Below
from predictor.ports import BUCKET_S, WorkSeries
from predictor.shared import Shelf
from predictor.steps import DAY_S


class Rung(Protocol):
    """What serves on top of the ladder, made from a history and fed by minutes from then on."""

    def update(self, work: float, *, is_censored: bool) -> None:
        """Take in the next minute (NaN = unknown)."""
        ...

    def row(self, window: int) -> Row | None:
        """Return the forecast of a window of the grid, `None` where this rung has none."""
        ...

    def tried(self, window: int) -> Sequence[tuple[int, Sequence[float]]]:
        """Return what it said, while it was tried, at ends of steps (s) that it had not seen."""
        ...

    def share(self, shelf: Shelf) -> None:
        """Go on with what a shelf has now of the model that many workloads share, where it has one."""
        ...


Train = Callable[[WorkSeries, Below], "Future[Rung | None] | None"]
"""Begins to make a rung from a history and what the rung below lost in it, wherever that may be done; `None`
= busy, ask again."""

HISTORY = 15 * DAY_S // BUCKET_S
"""Buckets that are kept to learn from: two weeks, and the day on which a rung is made."""


LEAST = 14 * 3600 // BUCKET_S
"""Buckets from which on there is something to judge a shared model by; an own one is learnt later."""


class Learning:
    """Keeps the history to learn from and has a rung made of it each day; until then the old one serves.

    A rung that cannot be made, or has won nowhere, is none: those below go on.
    """

    def __init__(self, workload: WorkloadKey, train: Train, shelf: Shelf | None = None) -> None:
        self._workload = workload
        self._train = train
        self._shelf = shelf or Shelf()

    def begin(self, history: WorkSeries) -> None:
        """Begin anew with a history."""
        self._start_s = history.start_s
        self._work = array("d", history.work.tolist())
        self._is_censored = bytearray(history.is_censored.tobytes())
        self._below: dict[int, dict[int, float]] = {window: {} for window in LEARNED}
        self._rung: Rung | None = None
        self._pending: Future[Rung | None] | None = None
        self._asked_s = -DAY_S
        self._is_urgent = False

    def note(self, window: int, opened_s: int, loss: float) -> None:
        """Take in what the rung below lost in a window that opened at a moment."""
        below = self._below.get(window)
        if below is not None:
            below[opened_s] = loss
            below.pop(opened_s - HELD_OUT_S, None)

    def hurry(self) -> None:
        """Have a rung made with the next bucket, whatever the day: demand is not what was learnt from.

        One that is being made is taken up first: it has to be caught up from when it was asked for.
        """
        self._is_urgent = True

    def append(self, work: float, *, is_censored: bool) -> Rung | None:
        """Take in the next bucket; a rung that has been made in the meantime is taken up.

        Returns the rung if it is the first, after none.
        """
        self._work.append(work)
        self._is_censored.append(is_censored)
        if self._rung is not None:
            self._rung.share(self._shelf)
            self._rung.update(work, is_censored=is_censored)
        end_s = self._start_s + BUCKET_S * len(self._work)
        is_due = self._is_urgent or end_s // DAY_S > self._asked_s // DAY_S
        if self._pending is None and is_due and len(self._work) >= LEAST:
            self._forget()
            self._pending = self._train(self._history(), self._below)
            if self._pending is not None:
                self._asked_s, self._is_urgent = end_s, False
        before = self._rung
        if self._pending is not None and self._pending.done():
            self._take_up(self._pending)
            self._pending = None
        return self._rung if before is None else None

    def row(self, window: int) -> Row | None:
        """Return the forecast of a window, `None` where there is no rung or it has not won."""
        return self._rung.row(window) if self._rung is not None else None

    def _history(self) -> WorkSeries:
        is_censored = np.frombuffer(bytes(self._is_censored), np.bool_)
        return WorkSeries(self._workload, self._start_s, np.array(self._work), is_censored)

    def _take_up(self, made: Future[Rung | None]) -> None:
        self._rung = made.result() if made.exception() is None else None
        if self._rung is not None:
            for place in range((self._asked_s - self._start_s) // BUCKET_S, len(self._work)):
                self._rung.update(self._work[place], is_censored=bool(self._is_censored[place]))

    def _forget(self) -> None:
        surplus = len(self._work) - HISTORY
        if surplus > 0:
            del self._work[:surplus], self._is_censored[:surplus]
            self._start_s += surplus * BUCKET_S
