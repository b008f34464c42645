"""Where learned rungs are made: in a process beside the service, or on the spot."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from threading import RLock

import structlog

from fleet.workload import WorkloadKey
from predictor.calendar import Calendar
from predictor.forecasters.guest import GuestRung
from predictor.forecasters.learned import Below, LearnedRung
from predictor.learning import Rung, Train
from predictor.ports import WorkSeries
from predictor.recipe import Guest, Recipe
from predictor.shared import Shared

NICENESS = 10
"""Training yields to the loop that it is for."""


AHEAD = 30
"""Histories that wait for their turn at most (6 MB): about what one core makes rungs of before the next
bucket closes and workloads ask again."""


class Workshop:
    """Makes one rung at a time in a child process, which starts with the first.

    Whatever the fleet's size, one core at most is busy with it and few histories wait. Those are dropped when
    the service ends: little is left to wait for.

    Args:
        recipe: How rungs are made.
        shared: What serves of the model that many workloads share.
        calendars: Of the workloads whose users live by another one than the recipe's.
    """

    def __init__(
        self,
        recipe: Recipe | Guest,
        shared: Callable[[], Shared | None] = lambda: None,
        calendars: Mapping[WorkloadKey, Calendar] | None = None,
    ) -> None:
        self._recipe = recipe
        self._calendars = calendars or {}
        self._shared = shared
        self._pool: ProcessPoolExecutor | None = None
        self._waiting: deque[tuple[Future[Rung | None], WorkSeries, Below]] = deque()
        self._is_busy = False
        self._turn = RLock()

    def train(self, history: WorkSeries, below: Below) -> Future[Rung | None] | None:
        """Return what will be the rung of this history, `None` while too many wait: ask again."""
        with self._turn:
            if len(self._waiting) == AHEAD:
                return None
            made: Future[Rung | None] = Future()
            self._waiting.append((made, history, below))
            self._go_on()
        return made

    def _go_on(self) -> None:
        """Begin with what waits longest, unless a rung is being made."""
        if self._is_busy or not self._waiting:
            return
        made, history, below = self._waiting.popleft()
        try:
            begun = self._begin(history, below)
        except RuntimeError:  # the interpreter ends, and takes no more work
            self._waiting.clear()
            return
        self._is_busy = True
        begun.add_done_callback(partial(self._deliver, made))

    def _begin(self, history: WorkSeries, below: Below) -> Future[Rung | None]:
        make = partial(rung_of, history, below, self._recipe, self._shared(), self._calendars)
        if self._pool is not None:
            with suppress(BrokenProcessPool):
                return self._pool.submit(make)
        # Forking a process with threads may copy a lock that is held: the child starts from nothing.
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), os.nice, (NICENESS,))
        return self._pool.submit(make)

    def _deliver(self, made: Future[Rung | None], begun: Future[Rung | None]) -> None:
        error = begun.exception()
        with self._turn:
            self._is_busy = False
            if isinstance(error, BrokenProcessPool):  # the child was killed
                self._pool = None
            self._go_on()
        if error is None:
            made.set_result(begun.result())
        else:
            structlog.get_logger().warning("training failed", error=repr(error))
            made.set_exception(error)


def here(recipe: Recipe | Guest, shared: Callable[[], Shared | None] = lambda: None) -> Train:
    """Return what makes rungs on the spot, as a replay does, with what serves of a model that is shared."""

    def train(history: WorkSeries, below: Below) -> Future[Rung | None]:
        made: Future[Rung | None] = Future()
        made.set_result(rung_of(history, below, recipe, shared()))
        return made

    return train


def rung_of(
    history: WorkSeries,
    below: Below,
    recipe: Recipe | Guest,
    shared: Shared | None = None,
    calendars: Mapping[WorkloadKey, Calendar] | None = None,
) -> Rung | None:
    """Return the top rung of a history, `None` where it is too short or none has won.

    Args:
        history: Of a workload.
        below: What the rung below lost.
        recipe: How the rung is made.
        shared: A model that many workloads share; of holidays and events it knows nothing, so that it takes
            no part where a workload's models look at them.
        calendars: Of workloads whose users live by another one than the recipe's.
    """
    if isinstance(recipe, Guest):
        return GuestRung.trained(history, below, recipe)
    calendar = (calendars or {}).get(history.workload, recipe.question.calendar)
    knows_all = not (calendar.country or calendar.events)
    return LearnedRung.trained(history, below, recipe.living_by(calendar), shared if knows_all else None)
