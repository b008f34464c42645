"""What the forecast is worth in placing sleepers: beds dealt by it too, or by the past alone.

Every slice has beds of its own, planned by the service's rule (`allocator.beds`) as often as it plans, and
is dealt each step as the service deals (`allocator.turns`). Otherwise than in the service, plans look back
five days in place of one, begin anew in place of keeping what stands, and go by the 95 % quantile of the
forecast in place of 99 %; memory bounds nothing but the number of sleepers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allocator.beds import Guest, House, Layout, Room, lay_out
from allocator.turns import Ask, Place, deal
from fleet.ledgers.beds import Bed
from fleet.workload import WorkloadKey
from foreslice.proof.course import Grid
from foreslice.standby.plan import USUAL
from foreslice.standby.pool import REPLAN_S
from predictor.ports import Floats
from simulator.coarse import Counts
from simulator.pool import Excess

PLANNED_EVERY_S = round(REPLAN_S)
LOOKS_BACK_S = 5 * 86_400
DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Placing:
    """What it comes to to deal beds by the forecast, too.

    Attributes:
        slices: Slices of the pool, alike in both.
        by_past: Work that was left where beds went by past need alone, by scored block.
        by_forecast: The same where they went by the forecast as well.
    """

    slices: int
    by_past: Floats
    by_forecast: Floats

    @property
    def ratio(self) -> float:
        """What was left by the forecast over what was left by the past."""
        return float(self.by_forecast.sum() / max(self.by_past.sum(), _TINY))

    @property
    def interval(self) -> tuple[float, float]:
        """Bounds of 95 % of the ratio, over draws of blocks."""
        blocks = len(self.by_past)
        drawn = np.random.default_rng(0).integers(0, blocks, (DRAWS, blocks))
        ratios = self.by_forecast[drawn].sum(axis=1) / np.maximum(self.by_past[drawn].sum(axis=1), _TINY)
        low, high = np.quantile(ratios, (0.025, 0.975))
        return float(low), float(high)


def placing(excess: Excess, ahead: Floats, grid: Grid, bounds: tuple[int, int], share_late: float) -> Placing:
    """Return what is left of the scored part's excess with beds dealt either way.

    Args:
        excess: What finds nothing ready, in slices, by step and workload.
        ahead: Slices by which demand may go beyond what is ready, as forecast at each step, likewise.
        grid: Time.
        bounds: Slices of the pool, and engines on each at most.
        share_late: Share of a step that waking takes.
    """
    left = []
    for risks in (np.zeros_like(ahead), ahead):
        got = _dealt(excess, risks, grid, bounds)
        wanted = excess.full + excess.part
        late = np.concatenate([got[:1], got[:-1]])
        served = (1 - share_late) * np.minimum(wanted, got) + share_late * np.minimum(wanted, late)
        lacked = (wanted - served).sum(axis=1)[grid.test :]
        left.append(np.add.reduceat(lacked, np.arange(0, len(lacked), grid.block)))
    return Placing(bounds[0], *left)


def _dealt(excess: Excess, risks: Floats, grid: Grid, bounds: tuple[int, int]) -> Counts:
    """Return the slices that each workload gets, by step; none before the scored part."""
    needed = excess.needed
    keys = [WorkloadKey("pool", f"{number:03}") for number in range(needed.shape[1])]
    every, back = (span_s // grid.step_s for span_s in (PLANNED_EVERY_S, LOOKS_BACK_S))
    got = np.zeros_like(needed)
    awake: dict[str, WorkloadKey] = {}
    sleeping: Sequence[frozenset[WorkloadKey]] = ()
    for step in range(grid.test, len(needed)):
        if (step - grid.test) % every == 0:
            layout = _planned(needed[max(0, step - back) : step], risks[step], bounds)
            sleeping = [frozenset(keys[one] for one in here) for here in layout]
            awake = {name: who for name, who in awake.items() if who in sleeping[int(name)]}
        asks = [
            Ask(keys[one], int(needed[step, one]), 1, float(excess.full[step, one] + excess.part[step, one]))
            for one in np.flatnonzero(needed[step]).tolist()
        ]
        asking = {ask.workload for ask in asks}
        # Who does not ask any more sleeps within the step.
        places = [
            Place(str(at), here, awake.get(str(at)) if awake.get(str(at)) in asking else None)
            for at, here in enumerate(sleeping)
        ]
        awake = dict(deal(asks, places))
        for who, count in Counter(awake.values()).items():
            got[step, int(who.name)] = count
    return got


def _planned(past: Counts, risks: Floats, bounds: tuple[int, int]) -> Layout:
    slices, sleepers = bounds
    usual = np.quantile(past, USUAL, axis=0)
    guests = [Guest(float(max(own, ahead)), 1, _BED) for own, ahead in zip(usual, risks, strict=True)]
    house = House([Room(str(at), 1.0) for at in range(slices)], sleepers, np.inf)
    return lay_out(guests, house, np.atleast_2d(np.cov(past.T.astype(np.float64))))


_BED = Bed(awake_gib=0.0, host_gib=0.0, context_gib=0.0)
_TINY = 1e-12
