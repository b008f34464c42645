"""How a standby pool stood over replayed days, and what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from actuator.standby.course import Verb
from actuator.standby.keeper import Done
from fleet.workload import WorkloadKey
from foreslice.standby.terms import Beds, PoolView
from predictor.ports import Floats
from simulator.insurance import PoolAccount, pool_account
from simulator.traffic import MINUTE_S
from simulator.world import World

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PoolDay:
    """What a pool cost, whom it served, and how the service saw it.

    Attributes:
        account: Cost and use, judged by the router.
        slices: Slices that there were, by minute, at most.
        asked: Slices that workloads asked for, likewise.
        short: Those of them that they asked for in vain, likewise.
        wakes_s: From a slice being held for an engine to its being sent requests, wake by wake.
        stuck: How often an engine did not wake, load or sleep in time.
        collisions: How often two engines wanted one slice's memory at once.
        beds: What was reckoned with for sleeping engines in the end, and what they were read to take.
    """

    account: PoolAccount
    slices: Counts
    asked: Counts
    short: Counts
    wakes_s: Floats
    stuck: int
    collisions: int
    beds: Beds

    @property
    def short_share(self) -> float:
        """Share of the minutes in which somebody asked for a slice in vain."""
        return float((self.short > 0).mean())


class Diary:
    """Takes down how a pool stands."""

    def __init__(self) -> None:
        self._stood: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self._wakes_s: list[float] = []
        self._stuck = 0
        self._beds: Beds = {}

    def look(self, view: PoolView, at_s: float) -> None:
        """Take in how it stands."""
        self._beds = view.beds_in_use
        stands = len(view.slices), sum(view.asks.values()), sum(view.short.values())
        self._stood[int(at_s) // MINUTE_S * MINUTE_S].append(stands)

    def note(self, turned: Iterable[Done]) -> None:
        """Take in what one turn of it did."""
        done = [one for one in turned if not one.problem]
        self._wakes_s += [one.held_s for one in done if one.act.verb is Verb.OPEN]
        self._stuck += sum(one.act.verb is Verb.BAR for one in done)

    def day(self, world: World, workloads: Sequence[WorkloadKey], end_s: int) -> PoolDay:
        """Return what came of it from the start of a world until a whole minute that has passed."""
        minutes = range(world.start_s, end_s, MINUTE_S)
        most = [np.max(self._stood[minute], axis=0) for minute in minutes]
        slices, asked, short = np.array(most, dtype=np.int64).T
        return PoolDay(
            pool_account(world.journal, workloads, world.start_s, end_s),
            slices,
            asked,
            short,
            wakes_s=np.array(self._wakes_s),
            stuck=self._stuck,
            collisions=len(world.sleep.collisions),
            beds=self._beds,
        )
