"""Where learned rungs are made: in a process beside the service, or on the spot."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

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


class Workshop:
    """Makes one rung at a time in a child process, which starts with the first.

    Whatever the fleet's size, one core at most is busy with it, nothing waits in a queue, and little is left
    to wait for when the service ends.

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
        self._newest: Future[Rung | None] | None = None

    def train(self, history: WorkSeries, below: Below) -> Future[Rung | None] | None:
        """Return what will be the rung of this history, `None` while another is being made: ask again."""
        if self._newest is not None and not self._newest.done():
            return None
        try:
            self._newest = self._begin(history, below)
        except BrokenProcessPool:  # the child was killed
            self._pool = None
            self._newest = self._begin(history, below)
        return self._newest

    def _begin(self, history: WorkSeries, below: Below) -> Future[Rung | None]:
        if self._pool is None:
            # Forking a process with threads may copy a lock that is held: the child starts from nothing.
            self._pool = ProcessPoolExecutor(1, get_context("spawn"), os.nice, (NICENESS,))
        made = self._pool.submit(rung_of, history, below, self._recipe, self._shared(), self._calendars)
        made.add_done_callback(_log_failure)
        return made


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


def _log_failure(made: Future[Rung | None]) -> None:
    if (error := made.exception()) is not None:
        structlog.get_logger().warning("training failed", error=repr(error))
