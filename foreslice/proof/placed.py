"""What the forecast is worth in placing sleepers: beds dealt by it too, or by the past alone.

The service's own pool at the settings that it has by default: own capacity follows demand, every slice has
beds of its own, planned by the service's function as often as it plans (`foreslice.standby.plan`), and is
dealt each step as the service deals (`allocator.turns`). Otherwise than there memory bounds nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allocator.beds import Guest
from allocator.pool import excess_slices
from allocator.turns import Ask, Place, deal
from fleet.ledgers.beds import Bed
from fleet.shape import Shape
from fleet.workload import Tier, WorkloadKey
from foreslice.proof.books import in_replicas
from foreslice.proof.course import Course, Grid
from foreslice.proof.pooled import excess_of, ready_of
from foreslice.standby.plan import Held, planned
from foreslice.standby.pool import REPLAN_S
from foreslice.standby.terms import PoolTerms
from predictor.ports import Floats
from predictor.steps import DAY_S
from predictor.value.draws import ENDS, draws_of
from simulator.coarse import Counts
from simulator.pool import Excess, served

PLANNED_EVERY_S = round(REPLAN_S)
DRAWS = 1000

QUANTILE, LEVEL = 0.98, 1.0
"""What the service's settings have by default (`standby.quantile`, `standby.level`)."""


@dataclass(frozen=True, slots=True)
class Placing:
    """What it comes to to deal beds by the forecast, too.

    Attributes:
        slices: Slices of the pool on average, alike in both.
        by_past: Work that was left where beds went by past need alone, by scored block, in slices x steps.
        by_forecast: The same where they went by the forecast as well.
    """

    slices: float
    by_past: Floats
    by_forecast: Floats

    @property
    def ratio(self) -> float:
        """What was left by the forecast over what was left by the past."""
        return float(self.by_forecast.sum() / max(self.by_past.sum(), _TINY))

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of 95 % of the ratio, over draws of blocks."""
        drawn = draws_of(len(self.by_past), DRAWS)
        low, high = np.quantile((self.by_forecast @ drawn) / np.maximum(self.by_past @ drawn, _TINY), ENDS)
        return float(low), float(high)


def placing(
    courses: Sequence[Course], ahead: Sequence[Floats], grid: Grid, sleepers: int, share_late: float
) -> Placing:
    """Return what is left of the scored part with beds dealt either way.

    Args:
        courses: Workloads, whose slices are alike.
        ahead: Forecast peaks of work over the time that a plan lasts, by workload and step.
        grid: Time.
        sleepers: Engines on a slice at most.
        share_late: Share of a step that waking takes.
    """
    demand, counts = (np.stack([getattr(one, n) for one in courses], axis=1) for n in ("demand", "counts"))
    piece, limits = courses[0].part.piece.work, grid.limits
    carries = np.full(len(courses), piece)
    ready = ready_of(in_replicas(LEVEL * demand, limits, piece), limits.lag, carries)
    excess = excess_of(demand, counts, ready, carries)
    known = np.where(counts, demand, np.nan)
    needed = np.stack([excess_slices(one, limits.lag, limits.quiet, piece, LEVEL) for one in known.T], axis=1)
    rise = (np.stack(ahead, axis=1) - demand) / piece
    left = []
    for risks in (np.zeros_like(rise), rise):
        got, slices = _dealt(excess, needed, risks, grid, sleepers)
        by_pool = served(excess, got, share_late)
        lacked = (excess.full + excess.part - by_pool).sum(axis=1)[grid.test :]
        left.append(np.add.reduceat(lacked, np.arange(0, len(lacked), grid.block)))
    return Placing(slices, *left)


def _dealt(excess: Excess, past: Counts, risks: Floats, grid: Grid, sleepers: int) -> tuple[Counts, float]:
    """Return the slices that each workload gets, by step from the first scored on, and how many there are."""
    needed, every, day = excess.needed, PLANNED_EVERY_S // grid.step_s, DAY_S // grid.step_s
    keys = [WorkloadKey("pool", f"{number:03}") for number in range(needed.shape[1])]
    terms = PoolTerms(_SHAPE, _MANY, sleepers, np.inf, 1.0, QUANTILE, LEVEL, 0.0, frozenset(Tier))
    got = np.zeros_like(needed)
    awake: dict[str, WorkloadKey] = {}
    held: Held = ()
    counts = []
    for step in range(grid.test, len(needed)):
        if (step - grid.test) % every == 0:
            guests = [Guest(float(risk), 1, _BED) for risk in risks[step]]
            layout = planned(past[max(0, step - day) : step], guests, terms, held)
            held = [("", here) for here in layout]
            sleeping = [frozenset(keys[one] for one in here) for here in layout]
            awake = {name: who for name, who in awake.items() if int(name) < len(sleeping)}
        counts.append(len(sleeping))
        asks = [
            Ask(keys[one], int(needed[step, one]), 1, float(excess.full[step, one] + excess.part[step, one]))
            for one in np.flatnonzero(needed[step]).tolist()
        ]
        asking = {ask.workload for ask in asks}
        # Who does not ask any more, or sleeps here no more, is put to sleep within the step.
        places = [
            Place(str(at), here, who if (who := awake.get(str(at))) in asking & here else None)
            for at, here in enumerate(sleeping)
        ]
        awake = dict(deal(asks, places))
        for who, count in Counter(awake.values()).items():
            got[step, int(who.name)] = count
    return got, float(np.mean(counts))


_SHAPE, _MANY, _BED = Shape("any"), 1000, Bed(awake_gib=0.0, host_gib=0.0, context_gib=0.0)
_TINY = 1e-12
