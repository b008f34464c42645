"""What is known and expected of every workload's demand, as of its last closed bucket.

Refreshed off the tick's thread; the tick reads the newest outlook, with its age. Everything here is
a cache: it is rebuilt from the metrics source after a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf

import numpy as np

from actuator.guards import STALE_METRICS_S
from allocator.offers import SPANS, Offers, offers_for, shares_of
from capacity.estimate import CapacityModel
from capacity.fit import Fit
from fleet.boards import Board
from fleet.demand import Mix, PeakForecast
from fleet.errors import RefusedError
from fleet.shape import Shape
from fleet.workload import Workload, WorkloadKey
from foreslice.fitting import Fitting, Pods
from predictor.demand import HISTORY_SIGNALS, USUAL_BUCKETS, demand_history
from predictor.foreseen import LOOK_BACK, is_fall_foreseen
from predictor.ports import (
    BUCKET_S,
    DemandHistory,
    Floats,
    Forecaster,
    MetricsSource,
    SignalBuckets,
    WorkSeries,
)

DAY_BUCKETS = 86400 // BUCKET_S
HOUR_BUCKETS = 3600 // BUCKET_S
KEPT_BUCKETS = LOOK_BACK + 2 * HOUR_BUCKETS
BEFORE_ANY_S = float("-inf")

AT_ONCE = 250
"""Workloads whose first history is read at once: ten days of one are 1.5 MB as they are read. Not fewer, as a
source that keeps days reads those of the whole fleet each time (by fifties, 200 took twice as long)."""

MIX_MOVES = 0.05
"""A mix within 5 % of the last one is the same: far below what is known of a capacity."""

DEFAULT_MIX = Mix(1024.0, 256.0)
"""Tokens of a request assumed until a first one has been seen."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a decision about one workload may use.

    Attributes:
        end_s: End of the last closed bucket, `BEFORE_ANY_S` before any.
        forecast: Peaks ahead, `None` while there is too little history.
        no_forecast_because: Why there is none.
        recent_work: Work in the closed buckets of the last day, oldest first, NaN = unknown.
        mix: Tokens of a request over the last hour.
        offers: Shapes that could carry it, with capacities at its present mixes.
        sustained_per_s: Requests/s of such a mix that a full reference replica sustains, `None` before any is
            known.
        is_fall_foreseen: Whether demand as low as now was thought possible an hour ago.
        doubts: What its sizes do not keep, one line each.
    """

    end_s: float
    forecast: PeakForecast | None
    no_forecast_because: str
    recent_work: Floats
    mix: Mix
    offers: Offers
    sustained_per_s: float | None = None
    is_fall_foreseen: bool = False
    doubts: tuple[str, ...] = ()

    @property
    def is_blind(self) -> bool:
        """Whether no history has been read yet: work and capacity are not known, only what is offered."""
        return self.end_s == BEFORE_ANY_S

    def carried(self, pods: Mapping[str, Shape]) -> dict[str, float]:
        """Return the work that each pod carries, by the shape it runs on; those of which it is known."""
        return {pod: work for pod, shape in pods.items() if (work := self.offers.works.get(shape))}

    @property
    def hour_peak(self) -> float:
        """The largest work of the last hour; infinite where none of it is known."""
        hour = self.recent_work[-HOUR_BUCKETS:]
        return float(np.nanmax(hour)) if np.isfinite(hour).any() else inf

    def asked(self, from_s: float, to_s: float) -> float:
        """Return the largest known work of the closed buckets between two times, 0 where none is known."""
        if self.is_blind:
            return 0.0
        ago = (ceil((self.end_s - edge_s) / BUCKET_S) for edge_s in (from_s, to_s))
        first, last = (max(0, len(self.recent_work) - buckets) for buckets in ago)
        found = self.recent_work[first:last]
        return float(np.nanmax(found)) if np.isfinite(found).any() else 0.0

    def quiet_peak(self, at_s: float, quiet_s: float) -> float | None:
        """Return the largest work over the quiet time before `at_s`, `None` unless all of it is known.

        The last bucket closed a little before `at_s`; one that closed long before says nothing of it.
        """
        buckets = self.recent_work[-max(1, ceil(quiet_s / BUCKET_S)) :]
        is_stale = at_s - self.end_s > STALE_METRICS_S
        if is_stale or len(buckets) * BUCKET_S < quiet_s or bool(np.isnan(buckets).any()):
            return None
        return float(buckets.max())


@dataclass(frozen=True, slots=True)
class _Sizes:
    """What shapes carry, what that does not keep, and what it was reckoned with."""

    mixes: tuple[Mix, Mix]
    fitted: Fit | None
    offers: Offers
    doubts: tuple[str, ...]


class Observatory:
    """Keeps one forecaster per workload up to date with the metrics source.

    Args:
        workloads: Workloads to look after.
        metrics: Where their signals are read from.
        capacity: Turns demand into work, and shapes into capacity.
        boards: Kinds of cards in the fleet.
        make_forecaster: Makes the forecaster of one workload.
        history_s: How far back to learn from.
    """

    def __init__(
        self,
        workloads: Sequence[Workload],
        metrics: MetricsSource,
        capacity: CapacityModel,
        boards: Sequence[Board],
        make_forecaster: Callable[[Workload], Forecaster],
        history_s: float,
    ) -> None:
        self._workloads = tuple(workloads)
        self._metrics = metrics
        self._capacity = capacity
        self._boards = tuple(boards)
        self._make_forecaster = make_forecaster
        self._history_s = history_s
        self._forecasters: dict[WorkloadKey, Forecaster] = {}
        self._tails: dict[WorkloadKey, SignalBuckets] = {}
        self._days: dict[WorkloadKey, DemandHistory] = {}
        self._works: dict[WorkloadKey, Floats] = {}
        self._fitting = Fitting(workloads, metrics, capacity)
        self._sizes: dict[WorkloadKey, _Sizes] = {}
        # Until when each has learnt: where the source fails midway, those that were read are not read again.
        self._ends: dict[WorkloadKey, int] = {}

    def refresh(self, now_s: float, ready: Mapping[WorkloadKey, Pods]) -> Mapping[WorkloadKey, Outlook]:
        """Read the buckets closed since the last call and return every workload's outlook.

        What the ready pods showed in the last minute is learnt of their engines, too.

        Raises `UnavailableError` when the metrics source does not answer; nothing is lost, the next
        call reads what this one could not. Time may go back (a clock, a file): no bucket is learnt twice.
        """
        end_s = max(int(now_s // BUCKET_S) * BUCKET_S, *self._ends.values(), 0)
        is_news = False
        for start_s, part in self._due(end_s):
            read = self._metrics.samples(HISTORY_SIGNALS, [one.key for one in part], start_s, end_s)
            for workload in part:
                self._learn(workload, self._demand(read[workload.key]))
                self._ends[workload.key] = end_s
            is_news = True
        if is_news:
            self._fitting.update(ready, now_s)
        mixes = {workload.key: self._mixes(workload.key) for workload in self._workloads}
        self._reckon(mixes)
        return {one.key: self._outlook(one, mixes[one.key][0]) for one in self._workloads}

    def _due(self, end_s: int) -> list[tuple[int, list[Workload]]]:
        """Return since when whose buckets have to be read: first histories of a few at once, then the newest.

        All that is read at once is in memory at once: of first histories that is days of many signals.
        """
        new = [workload for workload in self._workloads if workload.key not in self._ends]
        since_s = end_s - int(self._history_s // BUCKET_S) * BUCKET_S
        due = [(since_s, new[at : at + AT_ONCE]) for at in range(0, len(new), AT_ONCE)]
        known = [workload for workload in self._workloads if workload.key in self._ends]
        ended = sorted({self._ends[workload.key] for workload in known} - {end_s})
        return [*due, *((at_s, [one for one in known if self._ends[one.key] == at_s]) for at_s in ended)]

    def blind(self) -> Mapping[WorkloadKey, Outlook]:
        """Return what is known before any history has been read: enough to hold floors, nothing more."""
        return {
            workload.key: Outlook(
                end_s=BEFORE_ANY_S,
                forecast=None,
                no_forecast_because="no history has been read",
                recent_work=np.array([]),
                mix=DEFAULT_MIX,
                offers=offers_for(workload, self._boards, self._capacity, (DEFAULT_MIX,), SPANS),
            )
            for workload in self._workloads
        }

    def work_per_request_rate(self, workload: Workload, mix: Mix) -> float:
        """Return the work of one offered request/s at this mix."""
        return 1.0 / self._capacity.sustained(workload, self._capacity.reference(workload), mix)

    def _demand(self, new: SignalBuckets) -> DemandHistory:
        """Return the demand of new buckets; growth, mix and usual failures look back at the ones before."""
        before = self._tails.get(new.workload)
        joined = new if before is None else _followed(before, new)
        self._tails[new.workload] = _tail(joined, USUAL_BUCKETS)
        demand = _last(demand_history(joined), (joined.end_s - new.start_s) // BUCKET_S)
        day = self._days.get(new.workload)
        return demand if day is None else _with_mix_of(demand, day)

    def _learn(self, workload: Workload, new: DemandHistory) -> None:
        work = self._work(workload, new)
        forecaster = self._forecasters.get(workload.key)
        if forecaster is None:
            series = WorkSeries(workload.key, new.start_s, work, new.is_censored)
            self._forecasters[workload.key] = self._make_forecaster(workload).fit(series)
            self._days[workload.key] = _last(new, DAY_BUCKETS)
            self._works[workload.key] = work[-KEPT_BUCKETS:]
            return
        for bucket, censored in zip(work, new.is_censored, strict=True):
            forecaster.update(float(bucket), is_censored=bool(censored))
        self._days[workload.key] = _last(_joined(self._days[workload.key], new), DAY_BUCKETS)
        self._works[workload.key] = np.concatenate([self._works[workload.key], work])[-KEPT_BUCKETS:]

    def _work(self, workload: Workload, demand: DemandHistory) -> Floats:
        return self._capacity.work(
            workload, demand.requests_per_s, demand.prompt_tokens, demand.output_tokens
        )

    def _mixes(self, key: WorkloadKey) -> tuple[Mix, Mix]:
        return _mixes(self._days[key], self._works[key][-DAY_BUCKETS:])

    def _outlook(self, workload: Workload, mix: Mix) -> Outlook:
        day = self._days[workload.key]
        forecast, because = None, ""
        try:
            forecast = self._forecasters[workload.key].peaks()
        except RefusedError as error:
            because = str(error)
        work = self._works[workload.key][-DAY_BUCKETS:]
        sizes = self._sizes[workload.key]
        return Outlook(
            end_s=day.end_s,
            forecast=forecast,
            no_forecast_because=because,
            recent_work=work,
            mix=mix,
            offers=sizes.offers,
            sustained_per_s=1.0 / self.work_per_request_rate(workload, mix),
            is_fall_foreseen=is_fall_foreseen(self._works[workload.key]),
            doubts=sizes.doubts,
        )

    def _doubts(self, workload: Workload, mixes: tuple[Mix, Mix], offers: Offers) -> tuple[str, ...]:
        reference, longest = self._capacity.reference(workload), max(mixes, key=lambda mix: mix.prompt_tokens)
        tokens = f"{longest.prompt_tokens:.0f} prompt and {longest.output_tokens:.0f} output tokens"
        relaxed = (
            f"no number of replicas keeps {term} at {tokens}: sized for what {reference} does for one request"
            for term in self._capacity.relaxed(workload, mixes)
        )
        if offers.by_shape:
            return tuple(relaxed)
        return *relaxed, "no shape of one card holds the model and keeps its objectives and isolation"

    def _reckon(self, mixes: Mapping[WorkloadKey, tuple[Mix, Mix]]) -> None:
        """Work out anew what shapes carry where a mix or a law has really moved, all of these together."""
        due = [workload for workload in self._workloads if self._is_due(workload, mixes[workload.key])]
        shapes = {one.key: list(shares_of(one, self._boards, self._capacity, SPANS)) for one in due}
        self._capacity.solve((one, shapes[one.key], mixes[one.key]) for one in due)
        for workload in due:
            at = mixes[workload.key]
            offers = offers_for(workload, self._boards, self._capacity, at, SPANS)
            fitted = self._capacity.fitted(workload.key)
            self._sizes[workload.key] = _Sizes(at, fitted, offers, self._doubts(workload, at, offers))

    def _is_due(self, workload: Workload, mixes: tuple[Mix, Mix]) -> bool:
        held, fitted = self._sizes.get(workload.key), self._capacity.fitted(workload.key)
        return (
            held is None
            or held.fitted is not fitted
            or any(_moved(was, now) for was, now in zip(held.mixes, mixes, strict=True))
        )


def _mixes(day: DemandHistory, work: Floats) -> tuple[Mix, Mix]:
    """Return the request-weighted mix of the last hour, and the mix at the last day's peak of work."""
    hour = mean_mix(day, slice(-HOUR_BUCKETS, None)) or mean_mix(day, slice(None)) or DEFAULT_MIX
    if np.isnan(work).all():
        return hour, hour
    peak = int(np.nanargmax(work))
    return hour, mean_mix(day, slice(peak, peak + 1)) or hour


def _moved(was: Mix, now: Mix) -> bool:
    pairs = ((was.prompt_tokens, now.prompt_tokens), (was.output_tokens, now.output_tokens))
    return any(abs(new - old) > MIX_MOVES * old for old, new in pairs)


def mean_mix(day: DemandHistory, part: slice) -> Mix | None:
    """Return the mix of a part of the buckets, weighted by requests; `None` where none are known."""
    requests = day.requests_per_s[part]
    known = (
        np.isfinite(requests) & np.isfinite(day.prompt_tokens[part]) & np.isfinite(day.output_tokens[part])
    )
    weights = requests[known]
    if weights.sum() == 0:
        return None
    return Mix(
        float(np.average(day.prompt_tokens[part][known], weights=weights)),
        float(np.average(day.output_tokens[part][known], weights=weights)),
    )


def _followed(before: SignalBuckets, new: SignalBuckets) -> SignalBuckets:
    return replace(
        before, values={s: np.concatenate([before.values[s], values]) for s, values in new.values.items()}
    )


def _tail(buckets: SignalBuckets, count: int) -> SignalBuckets:
    dropped = max(0, (buckets.end_s - buckets.start_s) // BUCKET_S - count)
    return replace(
        buckets,
        start_s=buckets.start_s + dropped * BUCKET_S,
        values={signal: values[dropped:] for signal, values in buckets.values.items()},
    )


def _with_mix_of(demand: DemandHistory, day: DemandHistory) -> DemandHistory:
    """Return demand with the last known mix carried into buckets in which too little finished to tell."""
    return replace(
        demand,
        prompt_tokens=np.where(np.isnan(demand.prompt_tokens), day.prompt_tokens[-1], demand.prompt_tokens),
        output_tokens=np.where(np.isnan(demand.output_tokens), day.output_tokens[-1], demand.output_tokens),
    )


def _joined(first: DemandHistory, then: DemandHistory) -> DemandHistory:
    return replace(
        first,
        requests_per_s=np.concatenate([first.requests_per_s, then.requests_per_s]),
        prompt_tokens=np.concatenate([first.prompt_tokens, then.prompt_tokens]),
        output_tokens=np.concatenate([first.output_tokens, then.output_tokens]),
        is_censored=np.concatenate([first.is_censored, then.is_censored]),
    )


def _last(history: DemandHistory, buckets: int) -> DemandHistory:
    dropped = max(0, len(history.requests_per_s) - buckets)
    return replace(
        history,
        start_s=history.start_s + dropped * BUCKET_S,
        requests_per_s=history.requests_per_s[dropped:],
        prompt_tokens=history.prompt_tokens[dropped:],
        output_tokens=history.output_tokens[dropped:],
        is_censored=history.is_censored[dropped:],
    )
