"""The engines of all pods: what they serve, how long it takes, and which requests were inside their SLO.

Requests of a workload are spread evenly over its ready pods as they arrive. Where no pod is ready, or the
queue in front of a pod is full, they are refused: nobody serves them, and they count as missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from capacity.law import Law
from fleet.demand import Mix
from fleet.shape import Shape
from fleet.workload import Workload, WorkloadKey
from simulator.counts import ITL_EDGES_S, TTFT_EDGES_S, PodCounts, Tally
from simulator.errors import NotModelledError
from simulator.fluid import STEP_S, Floats, Flow, Pace, flow, pace_of
from simulator.latency import itl_share_under, limits_of, share_done_by, share_inside
from simulator.traces import TRACE_STEP_S

_LEFT_OVER = 0.5
"""Part of a request that is an artefact of the fluid: less than this is nobody's request."""


class Demand(Protocol):
    """What the engines are offered; `simulator.offered.OfferedTraffic` implements it."""

    def seconds(self, from_s: int, count: int) -> Floats:
        """Return the requests that arrive in `count` seconds of one day, shape (count, workloads)."""
        ...

    def mixes(self, at_s: int) -> Sequence[Mix]:
        """Return each workload's token mix at a time; it changes at multiples of `TRACE_STEP_S` only."""
        ...


class Laws(Protocol):
    """How fast engines are; `simulator.truth.HiddenTruth` implements it."""

    def law(self, workload: Workload, shape: Shape) -> Law:
        """Return the law of a workload's engines on a shape."""
        ...

    def kv_tokens(self, workload: Workload, shape: Shape) -> float:
        """Return the tokens that the KV cache of an engine holds."""
        ...


@dataclass(frozen=True, slots=True)
class _Engine:
    pod: str
    row: int
    law: Law
    kv_tokens: float
    is_standby: bool
    is_ready: bool = False
    is_up: bool = False
    is_asleep: bool = False


class Engines:
    """All engines of the fleet, advanced together in steps of one second.

    What depends on which pods there are (pace, limits, shares of the traffic) is kept as arrays that are
    made anew when a pod comes, goes or turns ready, and when token mixes change.

    Attributes:
        workloads: Workloads, in the order of the tally.
        names: Pods, in the order of their arrays; the same tuple until anything about the pods changes.
        owners: Workload of each pod.
        up: Places of the pods whose engine has been loaded: only those answer a scrape.
        counts: What each pod holds and has counted, in the order of `names`.
        tally: What has become of each workload's requests.
    """

    def __init__(self, workloads: Sequence[Workload], demand: Demand, laws: Laws, start_s: int) -> None:
        self.workloads = tuple(workloads)
        self.counts = PodCounts.zero(0)
        self.tally = Tally.zero(len(self.workloads))
        self._rows = {workload.key: row for row, workload in enumerate(self.workloads)}
        self._demand = demand
        self._laws = laws
        self._now_s = start_s
        self._mixes = demand.mixes(start_s)
        self._arrange(())
        self._equip()

    @property
    def now_s(self) -> int:
        """Up to when the engines were advanced, seconds since the epoch."""
        return self._now_s

    @property
    def pace(self) -> Pace:
        """How fast each pod is at the present token mix of its workload."""
        return self._pace

    def start(self, pod: str, workload: WorkloadKey, shape: Shape, *, is_standby: bool = False) -> None:
        """Add the engine of a pod, empty and not ready; `NotModelledError` if the shape has no KV room.

        What an engine of the standby pool serves is tallied apart, too.
        """
        row = self._rows[workload]
        law, room = (
            self._laws.law(self.workloads[row], shape),
            self._laws.kv_tokens(self.workloads[row], shape),
        )
        if room <= 0:
            raise NotModelledError(f"an engine that crashes because {workload} does not fit on {shape}")
        self.counts = self.counts.with_one_more()
        self._arrange((*self._engines, _Engine(pod, row, law, room, is_standby)))
        self._equip()

    def set_ready(self, pod: str, *, is_ready: bool) -> None:
        """Begin or end to send requests to a pod; one that is not here (any more) is passed over."""
        self._arrange(
            tuple(
                replace(engine, is_ready=is_ready, is_up=engine.is_up or is_ready)
                if engine.pod == pod
                else engine
                for engine in self._engines
            )
        )

    def set_asleep(self, pod: str, *, is_asleep: bool) -> None:
        """Let an engine sleep, which cuts what it serves and refuses what it is sent, or serve again."""
        at = self.names.index(pod)
        if is_asleep:
            self._end(at)
            self.counts.running[at] = self.counts.queued[at] = 0.0
        turned = replace(self._engines[at], is_asleep=is_asleep)
        self._arrange((*self._engines[:at], turned, *self._engines[at + 1 :]))

    def drain_s(self, pod: str) -> float:
        """Stop sending requests to a pod and return the seconds until its last one is done, 0 if idle.

        The queue leaves at the rate of a full batch. Of what is resident at least dt / (residence + dt)
        leaves in each step, until less than half a request is left.
        """
        self.set_ready(pod, is_ready=False)
        at = self.names.index(pod)
        queued = float(self.counts.queued[at])
        resident = float(self._pace.places[at] if queued > _LEFT_OVER else self.counts.running[at] + queued)
        if resident <= _LEFT_OVER:
            return 0.0
        residence_s = self._pace.residence_s[at] + self._pace.residence_s_per_request[at] * resident
        steps = np.ceil(np.log(resident / _LEFT_OVER) / np.log1p(STEP_S / residence_s))
        # One more step, as the first is over already when somebody counts from between two whole seconds.
        return float(queued / self._pace.full_per_s[at] + (steps + 1) * STEP_S)

    def stop(self, pod: str) -> None:
        """Remove a pod; what it still serves is cut off, unless it is less than half a request."""
        at = self.names.index(pod)
        self._end(at)
        self.counts = self.counts.without(at)
        self._arrange((*self._engines[:at], *self._engines[at + 1 :]))
        self._equip()

    def _end(self, at: int) -> None:
        """Count what a pod still holds: as completed where that is less than half a request, else as cut."""
        left = self.counts.running[at] + self.counts.queued[at]
        end = self.tally.completed if left <= _LEFT_OVER else self.tally.cut
        end[self._engines[at].row] += left

    def on(self, pod: str) -> float:
        """Return the requests that a pod holds."""
        at = self.names.index(pod)
        return float(self.counts.running[at] + self.counts.queued[at])

    def in_service(self) -> Floats:
        """Return the requests of each workload that wait or are resident."""
        return self._by_workload(self.counts.running + self.counts.queued)

    def advance(self, until_s: float) -> None:
        """Serve up to the last whole second before or at `until_s`."""
        while (left := int(until_s) - self._now_s) > 0:
            mixes = self._demand.mixes(self._now_s)
            if mixes != self._mixes:
                self._mixes = mixes
                self._equip()
            seconds = min(left, TRACE_STEP_S - self._now_s % TRACE_STEP_S)
            self._serve(self._demand.seconds(self._now_s, seconds))
            self._now_s += seconds

    def _serve(self, offered: Floats) -> None:
        """Serve what is offered in consecutive seconds, shape (seconds, workloads)."""
        sent = offered @ self._shares
        arrivals = sent * self._serves
        self.tally.refused += self._by_workload((sent - arrivals).sum(axis=0))
        queued_before = self.counts.queued[np.newaxis]
        after = flow(self.counts.running, self.counts.queued, arrivals, self._pace)
        # Rounding must not let a counter fall.
        admitted = np.maximum(
            arrivals - after.refused - np.diff(after.queued, axis=0, prepend=queued_before), 0.0
        )
        total = offered.sum(axis=0)
        self.tally.offered += total
        self.tally.refused += total * self._has_no_pod + self._by_workload(after.refused.sum(axis=0))
        self._judge(after, arrivals, admitted)
        self._count(after, admitted.sum(axis=0))

    def _judge(self, after: Flow, arrivals: Floats, admitted: Floats) -> None:
        """Time requests: who arrives is inside the SLO or not, who is admitted gets a first token."""
        pace = self._pace
        wait_s = after.queued / pace.full_per_s
        first_token_s = pace.first_token_s + pace.first_token_s_per_request * after.running
        itl_s = pace.itl_s + pace.itl_s_per_request * after.running
        residence_s = pace.residence_s + pace.residence_s_per_request * after.running
        shares = share_inside(self._limits, wait_s, first_token_s, itl_s, residence_s)
        kept = np.maximum(arrivals - after.refused, 0.0)
        for total, share in (
            (self.tally.inside, shares.all),
            (self.tally.within_ttft, shares.ttft),
            (self.tally.within_itl, shares.itl),
            (self.tally.within_e2e, shares.e2e),
        ):
            np.add(total, self._by_workload((kept * share).sum(axis=0)), out=total)
        self.counts.ttft_sum_s += (admitted * (wait_s + first_token_s)).sum(axis=0)
        # Buckets by the means over the seconds at hand: the sum is exact, its spread over buckets nearly so.
        under = share_done_by(
            TTFT_EDGES_S, wait_s.mean(axis=0)[:, np.newaxis], first_token_s.mean(axis=0)[:, np.newaxis]
        )
        self.counts.ttft_under += admitted.sum(axis=0)[:, np.newaxis] * under
        # Whoever is resident for a step waits all of it for tokens; their prefill is left out of account.
        waited_s = STEP_S * after.running
        tokens = waited_s / itl_s
        under = itl_share_under(ITL_EDGES_S, itl_s.mean(axis=0)[:, np.newaxis])
        self.counts.itl_sum_s += waited_s.sum(axis=0)
        self.counts.itl_count += tokens.sum(axis=0)
        self.counts.itl_under += tokens.sum(axis=0)[:, np.newaxis] * under

    def _count(self, after: Flow, admitted: Floats) -> None:
        """Move the counters of the pods."""
        counts, pace = self.counts, self._pace
        completed = np.maximum(admitted - (after.running[-1] - counts.running), 0.0)
        counts.running, counts.queued = after.running[-1].copy(), after.queued[-1].copy()
        counts.completions += completed
        counts.ttft_count += admitted
        counts.prompt_tokens += admitted * pace.prompt_tokens
        counts.output_tokens += completed * pace.output_tokens
        self.tally.completed += self._by_workload(completed)
        self.tally.by_standby += self._by_workload(completed * self._is_standby)

    def _arrange(self, engines: tuple[_Engine, ...]) -> None:
        """Take in which pods there are, and who of them is sent requests and serves."""
        self._engines = engines
        self.names = tuple(engine.pod for engine in engines)
        self.owners = tuple(self.workloads[engine.row] for engine in engines)
        self.up = tuple(at for at, engine in enumerate(engines) if engine.is_up)
        rows = np.array([engine.row for engine in engines], dtype=np.intp)
        # Workloads by pods: whose a pod is, and the share of a workload's requests that a pod gets.
        self._belongs = np.zeros((len(self.workloads), len(engines)))
        self._belongs[rows, np.arange(len(engines))] = 1.0
        takes = self._belongs * np.array([engine.is_ready for engine in engines], dtype=np.float64)
        taking = takes.sum(axis=1)
        self._serves = np.array([not engine.is_asleep for engine in engines], dtype=np.float64)
        self._is_standby = np.array([engine.is_standby for engine in engines], dtype=np.float64)
        self._has_no_pod = taking == 0
        self._shares = takes / np.maximum(taking, 1.0)[:, np.newaxis]

    def _equip(self) -> None:
        """Take in how fast engines are, and what they are held to: the same whoever of them is ready."""
        engines = self._engines
        self._pace = pace_of([(engine.law, engine.kv_tokens, self._mixes[engine.row]) for engine in engines])
        self._limits = limits_of([self.workloads[engine.row].slo for engine in engines])

    def _by_workload(self, by_pod: Floats) -> Floats:
        total: Floats = self._belongs @ by_pod
        return total
