"""Who sleeps where: the size of the pool and its beds, from what workloads needed and may come to need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allocator.beds import Guest, House, Layout, Room, lay_out
from allocator.need import Need, Timing
from allocator.pool import Needs, excess_slices, slices_for
from allocator.turns import slices_asked
from fleet.cluster import Standing
from fleet.ledgers.beds import Bed
from fleet.standby import PoolSlice
from fleet.workload import Way, Workload, WorkloadKey
from foreslice.outlook import Outlook
from foreslice.standby.terms import PoolTerms
from predictor.ports import BUCKET_S

RISK_WINDOW_S, RISK_QUANTILE = 6 * 3600.0, 0.99
"""Of the forecast by which beds are dealt: a plan lasts so long."""

USUAL = 0.98
"""Quantile of a workload's own past need of slices, which its risk is not below."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A workload that may join.

    Attributes:
        workload: Which.
        standing: How it stands.
        outlook: What is known and expected of it.
        need: What it needs.
        timing: How long its changes take.
    """

    workload: Workload
    standing: Standing
    outlook: Outlook
    need: Need
    timing: Timing

    def objection(self, terms: PoolTerms) -> str:
        """Return why it cannot join, one clause, as far as that is seen from here; empty = it can."""
        offers, shape = self.outlook.offers, terms.shape
        if self.workload.way is not Way.OWN:
            return "something else sets its replicas, and would count standby pods among them"
        if not offers.works.get(shape):
            return f"its model or its objectives do not fit on {shape}"
        if not slices_asked(offers, self.standing.ready, shape, float("inf"), 1):
            return f"behind a router that spreads equally {shape} would lower what its replicas carry"
        return ""

    def needed(self, terms: PoolTerms) -> Needs:
        """Return the slices that it would have needed, by minute of the last day."""
        spans = (self.timing.lead_s, self.timing.quiet_s)
        lead, quiet = (max(1, round(span_s / BUCKET_S)) for span_s in spans)
        carries = self.outlook.offers.works[terms.shape]
        return excess_slices(self.outlook.recent_work, lead, quiet, carries, terms.level)

    def risk(self, terms: PoolTerms, needed: Needs) -> float:
        """Return the slices that it may need at once: by the forecast, and not less than it usually did."""
        usual = float(np.quantile(needed, USUAL))
        if self.outlook.forecast is None or self.need.reactive is None:
            return usual
        over = self.outlook.forecast.peak(RISK_WINDOW_S, RISK_QUANTILE) - self.need.reactive
        return max(usual, over / self.outlook.offers.works[terms.shape])


def beds(
    candidates: Sequence[Candidate],
    pools: Sequence[PoolSlice],
    terms: PoolTerms,
    bed: Callable[[Workload], Bed],
) -> dict[str, frozenset[WorkloadKey]]:
    """Return who sleeps on each slice of one namespace, by name of the slice.

    Args:
        candidates: Workloads that join.
        pools: Its slices as they stand.
        terms: What bounds it.
        bed: Given a workload, what its engine takes.
    """
    past = [candidate.needed(terms) for candidate in candidates]
    steps = min(map(len, past), default=0)
    if not steps:
        return {}
    needed = np.stack([each[-steps:] for each in past], axis=1)
    count = min(terms.slices, slices_for(needed, terms.quantile))
    names = [f"foreslice-standby-{number}" for number in range(1, count + 1)]
    held = {pool.name: pool for pool in pools}
    guests = [
        Guest(each.risk(terms, own), each.workload.tier.rank, bed(each.workload))
        for each, own in zip(candidates, past, strict=True)
    ]
    rooms = [Room(held[name].node if name in held else "", terms.memory_gib) for name in names]
    meets = np.cov(needed.T.astype(np.float64)).reshape(len(guests), len(guests))
    keys = [each.workload.key for each in candidates]
    house = House(rooms, terms.sleepers, terms.host_gib)
    layout = lay_out(guests, house, meets, _as_held(names, held, keys))
    return {name: frozenset(keys[at] for at in here) for name, here in zip(names, layout, strict=True)}


def _as_held(
    names: Sequence[str], held: Mapping[str, PoolSlice], keys: Sequence[WorkloadKey]
) -> Layout | None:
    if not held:
        return None
    at = {key: place for place, key in enumerate(keys)}
    sleeping = ([s.workload for s in held[name].sleepers] if name in held else [] for name in names)
    return tuple(frozenset(at[key] for key in here if key in at) for here in sleeping)
