"""What a run cost and what it delivered, read off its journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fleet.cluster import Gpu
from fleet.workload import WorkloadKey
from simulator.fluid import Floats
from simulator.journal import Holding, Journal, Serving
from simulator.traffic import MINUTE_S

_HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in figures.

    Attributes:
        gpu_hours: Hours of cards with at least one allocated device.
        slice_hours: Hours of allocated devices, each weighted with its share of a card.
        attainment: Requests inside every term of their SLO over those offered, of the whole fleet.
        attainment_by_workload: The same by workload; 1 where nothing was offered.
        unserved_share: Work of the requests that were refused, over the work that was offered.
        requests_offered: Requests that arrived.
        requests_cut: Requests that were lost because their pod was stopped.
        pods_started: Engines that began to load.
        changes: Writes to the replicas of Deployments.
    """

    gpu_hours: float
    slice_hours: float
    attainment: float
    attainment_by_workload: Mapping[WorkloadKey, float]
    unserved_share: float
    requests_offered: float
    requests_cut: float
    pods_started: int
    changes: int


def summary(journal: Journal, work: Mapping[WorkloadKey, Floats], start_s: float, end_s: float) -> Summary:
    """Return the figures of [start_s, end_s), whole minutes that the journal has tallies of.

    Args:
        journal: The run's.
        work: Work offered by minute from `start_s` on, in the order of the tallies.
        start_s: Begin, seconds since the epoch.
        end_s: End, seconds since the epoch.
    """
    total = journal.tallies[end_s].since(journal.tallies[start_s])
    offered = float(total.offered.sum())
    held = [holding for holding in journal.holdings if holding.from_s < end_s and holding.until_s > start_s]
    return Summary(
        gpu_hours=sum(_union_s(spans, start_s, end_s) for spans in _by_card(held).values()) / _HOUR_S,
        slice_hours=sum(h.gpu_share * (min(h.until_s, end_s) - max(h.from_s, start_s)) for h in held)
        / _HOUR_S,
        attainment=float(total.inside.sum()) / offered if offered else 1.0,
        attainment_by_workload={
            key: float(inside / count) if count else 1.0
            for key, inside, count in zip(work, total.inside, total.offered, strict=True)
        },
        unserved_share=_unserved_share(journal, work, start_s, end_s),
        requests_offered=offered,
        requests_cut=float(total.cut.sum()),
        pods_started=sum(start_s <= start.at_s < end_s for start in journal.starts),
        changes=sum(start_s <= scaling.at_s < end_s for scaling in journal.scalings),
    )


def layouts(
    journal: Journal, cards: Sequence[Gpu], workloads: Sequence[WorkloadKey], start_s: int, end_s: int
) -> NDArray[np.int16]:
    """Return who holds which memory slice at the start of each minute of [start_s, end_s).

    Shape (minutes, cards, memory slices of the widest board), as `numbers_of` numbers holders; 0 = nobody.
    """
    minutes = np.arange(start_s, end_s, MINUTE_S, dtype=np.int64)
    width = max(card.board.grid for card in cards)
    holders = np.zeros((len(minutes), len(cards), width), dtype=np.int16)
    places = {card.uuid: place for place, card in enumerate(cards)}
    numbers = numbers_of(workloads)
    for holding in journal.holdings:
        during = np.flatnonzero(_lasts(holding, minutes))[:, np.newaxis]
        slices = np.array(sorted(holding.device.memory_slices), dtype=np.intp)
        holders[during, places[holding.device.gpu], slices] = numbers[holding.workload]
    return holders


def numbers_of(workloads: Sequence[WorkloadKey]) -> Mapping[WorkloadKey | None, int]:
    """Return holders' numbers: n = the n-th of `workloads`, one more than there are = the standby pool."""
    return {holder: number for number, holder in enumerate((*workloads, None), start=1)}


def _lasts(span: Holding | Serving, minutes: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (span.from_s <= minutes) & (minutes < span.until_s)


def _by_card(holdings: Iterable[Holding]) -> Mapping[str, Sequence[Holding]]:
    cards: defaultdict[str, list[Holding]] = defaultdict(list)
    for holding in holdings:
        cards[holding.device.gpu].append(holding)
    return cards


def _union_s(spans: Sequence[Holding], start_s: float, end_s: float) -> float:
    """Return the seconds of [start_s, end_s) in which at least one span lasts; they begin in order."""
    covered, reached = 0.0, start_s
    for span in spans:
        until_s = min(span.until_s, end_s)
        if until_s > reached:
            covered += until_s - max(span.from_s, reached)
            reached = until_s
    return covered


def _unserved_share(
    journal: Journal, work: Mapping[WorkloadKey, Floats], start_s: float, end_s: float
) -> float:
    """Weigh the requests that were refused in each minute with the work of a request of that minute."""
    edges = np.arange(start_s, end_s + 1, MINUTE_S)
    refused, offered = (
        np.diff([getattr(journal.tallies[at_s], name) for at_s in edges.tolist()], axis=0).T
        for name in ("refused", "offered")
    )
    share = np.divide(refused, offered, out=np.zeros_like(refused), where=offered > 0)
    works = np.array([minutes[: len(edges) - 1] for minutes in work.values()])
    total = float(works.sum())
    return float((works * share).sum()) / total if total else 0.0
