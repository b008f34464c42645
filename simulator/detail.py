"""What a run cost as it may be paid, and how late its requests were, read off its journal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fleet.workload import Workload, WorkloadKey
from simulator.fluid import Floats
from simulator.journal import Holding, Journal
from simulator.traffic import MINUTE_S

_HOUR_S = 3600.0

TERMS = ("ttft", "itl", "e2e")
"""Terms of an SLO."""

_SOME = 1e-9
"""Of a request: fewer are none."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A run in more figures than those that are compared first.

    Attributes:
        node_hours: Hours of the cards of nodes with at least one allocated device.
        fixed_pool_hours: Of as many cards as were in use at most, all the time.
        repartitions: Moments in which a card's MIG layout changed: an instance was made or given back.
        work_hours: Work that was offered, in hours of full reference replicas.
        offered: Requests that arrived, by workload.
        attainment: By term of an SLO, the requests inside it over those offered, of the workloads that have
            such a term; terms that none has are not there.
        attainment_by_workload: The same by workload.
        violation_minutes: By workload, minutes in which some term's share was below the term's quantile.
    """

    node_hours: float
    fixed_pool_hours: float
    repartitions: int
    work_hours: float
    offered: Mapping[WorkloadKey, float]
    attainment: Mapping[str, float]
    attainment_by_workload: Mapping[WorkloadKey, Mapping[str, float]]
    violation_minutes: Mapping[WorkloadKey, int]


def detail(
    journal: Journal,
    workloads: Sequence[Workload],
    work: Mapping[WorkloadKey, Floats],
    cards_per_node: int,
    span_s: tuple[int, int],
) -> Detail:
    """Return the figures of a span, whole minutes that the journal has tallies of.

    Args:
        journal: The run's.
        workloads: In the order of the tallies.
        work: Work offered by minute, by workload.
        cards_per_node: Cards that each node has.
        span_s: Begin and end, seconds since the epoch.
    """
    start_s, end_s = span_s
    spans = list(_in_use(journal, start_s, end_s))
    edges = np.arange(start_s, end_s + 1, MINUTE_S).tolist()

    def by_minute(name: str) -> Floats:
        changes: Floats = np.diff([getattr(journal.tallies[at_s], name) for at_s in edges], axis=0)
        return changes

    offered = by_minute("offered")
    within = {term: by_minute(f"within_{term}") for term in TERMS}
    return Detail(
        node_hours=sum(length_s * nodes for length_s, _, nodes in spans) * cards_per_node / _HOUR_S,
        fixed_pool_hours=max((cards for _, cards, _ in spans), default=0) * (end_s - start_s) / _HOUR_S,
        repartitions=len(set(_recut(journal, start_s, end_s))),
        work_hours=float(sum(minutes.sum() for minutes in work.values())) * MINUTE_S / _HOUR_S,
        offered={one.key: float(offered[:, at].sum()) for at, one in enumerate(workloads)},
        attainment=_of_fleet(workloads, offered, within),
        attainment_by_workload={
            one.key: {
                term: _share(within[term][:, at], offered[:, at])
                for term in TERMS
                if getattr(one.slo, term) is not None
            }
            for at, one in enumerate(workloads)
        },
        violation_minutes={
            one.key: _violated(one, offered[:, at], {term: within[term][:, at] for term in TERMS})
            for at, one in enumerate(workloads)
        },
    )


def _of_fleet(
    workloads: Sequence[Workload], offered: Floats, within: Mapping[str, Floats]
) -> Mapping[str, float]:
    found = {}
    for term in TERMS:
        having = [at for at, one in enumerate(workloads) if getattr(one.slo, term) is not None]
        if having:
            found[term] = _share(within[term][:, having], offered[:, having])
    return found


def _share(inside: Floats, offered: Floats) -> float:
    total = float(offered.sum())
    return float(inside.sum()) / total if total else 1.0


def _violated(workload: Workload, offered: Floats, within: Mapping[str, Floats]) -> int:
    is_late = np.zeros(len(offered), np.bool_)
    for term, inside in within.items():
        if (target := getattr(workload.slo, term)) is not None:
            is_late |= (offered > _SOME) & (inside < target.quantile * offered)
    return int(is_late.sum())


def _recut(journal: Journal, start_s: float, end_s: float) -> Iterator[tuple[str, float]]:
    for held in journal.holdings:
        if held.device.profile is not None:
            yield from (
                (held.device.gpu, at_s) for at_s in (held.from_s, held.until_s) if start_s < at_s < end_s
            )


def _in_use(journal: Journal, start_s: float, end_s: float) -> Iterator[tuple[float, int, int]]:
    """Yield how long so many cards, and so many nodes, had an allocated device."""
    moves = sorted(_moves(journal, start_s, end_s))
    cards: Counter[tuple[str, str]] = Counter()
    nodes: Counter[str] = Counter()
    for (at_s, change, node, gpu), (next_s, *_) in pairwise([*moves, (end_s, 0, "", "")]):
        cards[node, gpu] += change
        if cards[node, gpu] == max(change, 0):  # the first of it, or the last
            nodes[node] += change
        cards, nodes = +cards, +nodes
        if next_s > at_s:
            yield next_s - at_s, len(cards), len(nodes)


def _moves(journal: Journal, start_s: float, end_s: float) -> Iterator[tuple[float, int, str, str]]:
    for held in journal.holdings:
        from_s, until_s = max(held.from_s, start_s), min(held.until_s, end_s)
        if from_s < until_s:
            yield from_s, 1, *_place(held)
            yield until_s, -1, *_place(held)


def _place(held: Holding) -> tuple[str, str]:
    return held.device.node, held.device.gpu
