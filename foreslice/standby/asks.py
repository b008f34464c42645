"""Who asks the pool for slices: what demand lacked of late, workload by workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from allocator.need import Need
from allocator.turns import Ask, slices_asked
from fleet.cluster import Fleet
from fleet.standby import Doing, PoolSlice
from fleet.workload import Workload, WorkloadKey
from foreslice.outlook import Outlook
from foreslice.standby.terms import PoolTerms

HELD_S = 60.0
"""A slice that somebody has is asked for as long as it was needed within this time: demand flickers."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """What was asked at one time: all work, and the slices and the work that own capacity lacked."""

    at_s: float
    work: float
    slices: int
    lacked: float


class Asks:
    """Keeps what was asked over the last minutes. Jobs may note and read side by side.

    Attributes:
        resting: Workloads that keep what they have and are given nothing, as those that are paused.
    """

    def __init__(self, terms: PoolTerms, workloads: Iterable[Workload]) -> None:
        self._terms = terms
        self._workloads = {workload.key: workload for workload in workloads}
        self._seen: dict[WorkloadKey, tuple[_Moment, ...]] = {}
        self.resting: frozenset[WorkloadKey] = frozenset()

    def note(
        self,
        needs: Mapping[WorkloadKey, Need],
        outlooks: Mapping[WorkloadKey, Outlook],
        fleet: Fleet,
        at_s: float,
    ) -> None:
        """Take in what is asked of each workload now, and what it carries of its own.

        While that is unknown, what was asked last stands: unknown demand wakes nobody and puts nobody to
        sleep.
        """
        since_s = at_s - max(HELD_S, self._terms.lasts_s)
        known = {key: standing for key in needs if (standing := fleet.standing(key)) is not None}
        self.resting = frozenset(
            key for key, standing in known.items() if not standing.may_gain(self._workloads[key].mode)
        )
        for key, need in needs.items():
            if key in self.resting:
                self._seen.pop(key, None)
                continue
            standing = known.get(key)
            if need.reactive is None or standing is None:
                continue
            offers, ready = outlooks[key].offers, standing.ready
            count = slices_asked(offers, ready, self._terms.shape, need.reactive, self._terms.slices)
            now = _Moment(at_s, need.reactive, count, max(0.0, need.reactive - offers.carried(ready)))
            before = self._seen.get(key, ())
            # One older than the span stays, as what was asked when it began.
            first = max((n for n, each in enumerate(before) if each.at_s <= since_s), default=0)
            self._seen[key] = (*before[first:], now)

    def lasting(self, key: WorkloadKey, at_s: float) -> float | None:
        """Return the least work asked over `lasts_s`, `None` where that is not known for all of it."""
        seen, since_s = self._seen.get(key, ()), at_s - self._terms.lasts_s
        if not seen or seen[0].at_s > since_s:
            return None
        return min(each.work for each in seen if each.at_s >= since_s)

    def of(self, pools: Sequence[PoolSlice]) -> list[Ask]:
        """Return who asks for any slice, given the slices as they stand.

        Who serves on a slice and of whom nothing was heard since we started asks to keep it.
        """
        has = Counter(p.hold.workload for p in pools if p.hold is not None and p.hold.doing is Doing.SERVING)
        found = []
        for key in (has.keys() | self._seen.keys()) & self._workloads.keys():
            seen, rank = self._seen.get(key), self._workloads[key].tier.rank
            if seen is None:
                found.append(Ask(key, has[key], rank))
                continue
            newest = seen[-1]
            most = max(each.slices for each in seen if each.at_s >= newest.at_s - HELD_S)
            count = max(newest.slices, min(has[key], most))
            if count:
                found.append(Ask(key, count, rank, newest.lacked))
        return sorted(found, key=lambda ask: ask.workload)
