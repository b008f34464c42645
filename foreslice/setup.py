"""A settings file made into a loop that runs: exchanged as a whole when settings change."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from actuator.standby.keeper import Done
from fleet.errors import UnavailableError
from fleet.workload import WorkloadKey
from foreslice.compose import Surroundings, have_same_surroundings, loop_of, surroundings_of
from foreslice.selection import settled
from foreslice.settings.load import load, workloads_of
from foreslice.settings.schema import Settings
from foreslice.tick import Loop, Tick


@dataclass(frozen=True, slots=True)
class Setup:
    """What the jobs of a process work on; none of them ever sees half of it.

    Attributes:
        written: The settings as they are in the file.
        settings: The same with all workloads that they select.
        surroundings: Adapters.
        loop: The loop on them.
    """

    written: Settings
    settings: Settings
    surroundings: Surroundings
    loop: Loop

    @property
    def keys(self) -> list[WorkloadKey]:
        """Workloads that are looked after."""
        return [workload.key for workload in workloads_of(self.settings)]

    def forecast(self) -> None:
        """Forecast anew, plan on that, and see where the whole fleet should be."""
        with self.surroundings.alone:
            self.loop.forecast()
            self.loop.plan()
        self.loop.aim()

    def require_forecast(self) -> None:
        """Raise `UnavailableError` where the newest forecast was not made."""
        if self.loop.forecast_trouble:
            raise UnavailableError(self.loop.forecast_trouble)

    def plan(self) -> None:
        """Plan, and see where the whole fleet should be."""
        with self.surroundings.alone:
            self.loop.plan()
        self.loop.aim()

    def standby(self) -> tuple[Done, ...]:
        """Turn the standby pool."""
        with self.surroundings.alone:
            return self.loop.standby()

    def tick(self, timed: AbstractContextManager[object]) -> Tick:
        """Tick once; the loop's own part of it is `timed`."""
        with self.surroundings.alone:
            told = self.surroundings.before_tick()
            with timed:
                tick = self.loop.tick()
        return tick if told is None else replace(tick, conditions=(told, *tick.conditions))


def setup_of(path: Path, before: Setup | None = None) -> Setup:
    """Return what a settings file describes, its first forecast tried; `InputError` if it cannot be used.

    What is to replace a running setup, `before`, needs that forecast: without it nothing could be decided.
    `UnavailableError` says why there is none. Only an order to stop acting is taken up all the same.
    """
    written = load(path)
    settings = settled(written, path.parent)
    with ExitStack() as undo:
        if before is not None and have_same_surroundings(settings, before.settings):
            surroundings = before.surroundings
        else:
            surroundings = surroundings_of(settings, path.parent)
            undo.callback(surroundings.close)
        setup = Setup(written, settings, surroundings, loop_of(settings, surroundings))
        setup.forecast()
        if before is not None and (settings.acting or not before.settings.acting):
            setup.require_forecast()
        undo.pop_all()
    return setup
