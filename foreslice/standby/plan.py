"""Who sleeps where: the size of the pool and its beds, from what workloads needed and may come to need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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

    def over(self, terms: PoolTerms) -> float:
        """Return the slices by which demand may rise within a plan by the forecast, 0 without one."""
        if self.outlook.forecast is None or self.need.reactive is None:
            return 0.0
        rise = self.outlook.forecast.peak(RISK_WINDOW_S, RISK_QUANTILE) - self.need.reactive
        return rise / self.outlook.offers.works[terms.shape]


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
    names = [f"foreslice-standby-{number}" for number in range(1, terms.slices + 1)]
    keys = [each.workload.key for each in candidates]
    guests = [Guest(each.over(terms), each.workload.tier.rank, bed(each.workload)) for each in candidates]
    layout = planned(needed, guests, terms, _as_held(names, pools, keys))
    return {name: frozenset(keys[at] for at in here) for name, here in zip(names, layout, strict=False)}


def admitted(
    planned: frozenset[WorkloadKey], standing: frozenset[WorkloadKey], resting: frozenset[WorkloadKey]
) -> frozenset[WorkloadKey]:
    """Return who should sleep on a slice: who rests stays where it is, and is let in nowhere.

    Args:
        planned: Who should by the plan.
        standing: Who has a pod there.
        resting: Who keeps what it has and is given nothing, as those that are paused.
    """
    return planned - resting | standing & resting


Held = Sequence[tuple[str, frozenset[int]]]
"""By slice, its node, empty = not known yet, and who sleeps there."""


def planned(needed: Needs, guests: Sequence[Guest], terms: PoolTerms, held: Held) -> Layout:
    """Return who sleeps on each slice of a pool, as large as what was needed asks for.

    Args:
        needed: Slices that each workload needed beyond its own, by step of the last day and workload.
        guests: Workloads; their risk is what is foreseen of them, and counts as not below what was usual.
        terms: What bounds the pool.
        held: Slices as they stand; where it is to have more, nobody sleeps there yet.
    """
    count = min(terms.slices, slices_for(needed, terms.quantile))
    usual = np.quantile(needed, USUAL, axis=0).tolist()
    likely = [replace(guest, risk=max(guest.risk, own)) for guest, own in zip(guests, usual, strict=True)]
    here = [*held[:count], *[("", frozenset[int]())] * (count - len(held))]
    house = House([Room(node, terms.memory_gib) for node, _ in here], terms.sleepers, terms.host_gib)
    meets = np.cov(needed.T.astype(np.float64)).reshape(len(guests), len(guests))
    return lay_out(likely, house, meets, tuple(sleeping for _, sleeping in here))


def _as_held(names: Sequence[str], pools: Sequence[PoolSlice], keys: Sequence[WorkloadKey]) -> Held:
    standing, at = {pool.name: pool for pool in pools}, {key: place for place, key in enumerate(keys)}
    found = [standing.get(name) for name in names]
    return [
        (pool.node, frozenset(at[s.workload] for s in pool.sleepers if s.workload in at))
        if pool is not None
        else ("", frozenset())
        for pool in found
    ]
