"""What may be decided on, and what the executor judges each step by, out of what a tick has seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from actuator.gate import Terms
from allocator.need import Need, Timing
from allocator.offers import Offers
from allocator.ways import within_reach
from fleet.cluster import Fleet, Standing
from fleet.demand import NowReading
from fleet.shape import Shape
from fleet.workload import Way, Workload, WorkloadKey
from foreslice.outlook import Outlook


def within_reach_of(
    workloads: Iterable[Workload], fleet: Fleet, outlooks: Mapping[WorkloadKey, Outlook], at_s: float
) -> list[tuple[Workload, Offers]]:
    """Return each workload and its offers as far as it can be acted on, given how it stands."""
    found = []
    for workload in workloads:
        standing = fleet.standing(workload.key)
        offers = outlooks[workload.key].offers.for_standing(standing, at_s)
        found.append(within_reach(workload, standing, offers))
    return found


class _Judged(Mapping[WorkloadKey, Terms]):
    """Terms by workload, in their order; made for those that somebody asks about, which are few in a tick."""

    def __init__(self, workloads: Iterable[Workload], make: Callable[[Workload], Terms]) -> None:
        self._workloads = {workload.key: workload for workload in workloads}
        self._make = make
        self._made: dict[WorkloadKey, Terms] = {}

    def __getitem__(self, key: WorkloadKey) -> Terms:
        if key not in self._made:
            self._made[key] = self._make(self._workloads[key])
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._workloads

    def __iter__(self) -> Iterator[WorkloadKey]:
        return iter(self._workloads)

    def __len__(self) -> int:
        return len(self._workloads)


def terms_of(
    workloads: Iterable[Workload],
    fleet: Fleet,
    outlooks: Mapping[WorkloadKey, Outlook],
    needs: Mapping[WorkloadKey, Need],
    readings: Mapping[WorkloadKey, NowReading],
    timing: Mapping[WorkloadKey, Timing],
) -> Mapping[WorkloadKey, Terms]:
    """Return what must hold for each workload, in their order."""

    def terms(workload: Workload) -> Terms:
        key, outlook = workload.key, outlooks[workload.key]
        return Terms(
            mode=workload.mode,
            router=workload.router,
            minimum=workload.limits.min_replicas,
            capacities=outlook.offers.works,
            need_keep=needs[key].keep,
            distrust=needs[key].distrust,
            hour_peak=outlook.hour_peak,
            is_fall_foreseen=outlook.is_fall_foreseen,
            answered=readings[key].answered if key in readings else frozenset(),
            proven=_proven(fleet.standing(key)),
            trial_s=timing[key].trial_s,
            drain_s=_drain_s(readings.get(key)),
        )

    return _Judged(workloads, terms)


def _drain_s(reading: NowReading | None) -> float:
    return (reading.drain_s or 0.0) if reading is not None else 0.0


def _proven(standing: Standing | None) -> frozenset[Shape] | None:
    """Return the shapes that a workload may rely on, `None` for all."""
    if standing is None or standing.proven is None:
        return None
    own = {standing.own.shape} if standing.is_proven(standing.own.shape) else set()
    return frozenset(own.union(standing.proven))


def seen_of(workloads: Sequence[Workload], fleet: Fleet) -> Iterator[str]:
    """Yield what keeps workloads from being handled as they stand in the cluster, one line each."""
    for key in sorted(workload.key for workload in workloads):
        standing = fleet.standing(key)
        if standing is None:
            yield f"{key}: {fleet.refused.get(key, 'no such Deployment')}"
        else:
            yield from (f"{key}: {line}" for line in standing.left_out)
    yield from sorted(set(fleet.barred.values()))
    yield from rivals(workloads, fleet)
    yield from gathered(workloads, fleet)


def rivals(workloads: Iterable[Workload], fleet: Fleet) -> list[str]:
    """Return why nothing is written for workloads whose replicas another one keeps, one line each."""
    return [
        f"{workload.key}: nothing is written: {standing.forbidden}"
        for workload in workloads
        if workload.mode.may_add and workload.way is not Way.PUBLISH
        if (standing := fleet.standing(workload.key)) is not None and standing.forbidden
    ]


def given_up(fleet: Fleet | None, at_s: float) -> list[str]:
    """Return which shapes are not used for now because their trials failed, one line each."""
    failed = (
        (standing.key, shape, standing.trials[shape])
        for standing in (fleet.standings if fleet is not None else ())
        for shape in sorted(standing.given_up(at_s))
    )
    return [
        f"{key}: {shape} is not used before {_minute(trial.until_s)}: "
        f"{'' if trial.is_over else f'{trial.failures} times '}{trial.because}"
        for key, shape, trial in failed
    ]


def gathered(workloads: Iterable[Workload], fleet: Fleet) -> list[str]:
    """Return what keeps workloads together that are to be spread over fault domains, one line each."""
    lines = []
    for workload in workloads:
        standing = fleet.standing(workload.key)
        if standing is None or not workload.is_spread:
            continue
        for variant in standing.variants:
            if variant.told and not (variant.is_spread or variant.is_copy):
                add = "add a topologySpreadConstraint over it to its pods"
                whose = f"Deployment {variant.name}" if variant.is_beside else "its own Deployment"
                lines.append(f"{workload.key}: {whose} does not ask for other fault domains: {add}")
        nodes = [r.device.node for v in standing.variants for r in v.replicas if r.device is not None]
        domains = {fleet.domain_of(node) for node in nodes}
        if len(nodes) > 1 and len(domains) == 1:
            lines.append(f"{workload.key}: all replicas stand in fault domain {domains.pop() or 'unknown'}")
    return lines


def unknowns(
    needs: Mapping[WorkloadKey, Need],
    readings: Mapping[WorkloadKey, NowReading],
    outlooks: Mapping[WorkloadKey, Outlook],
    fleet: Fleet | None,
) -> Iterator[str]:
    """Yield what is not known of demand and of sizes, one line each."""
    for key, need in needs.items():
        is_there = fleet is None or fleet.standing(key) is not None
        if need.reactive is None and key in readings and not outlooks[key].is_blind and is_there:
            yield f"{key}: demand now is unknown"
    for key, outlook in outlooks.items():
        if outlook.forecast is None and not outlook.is_blind:
            yield f"{key}: no forecast: {outlook.no_forecast_because}"
        yield from (f"{key}: {doubt}" for doubt in outlook.doubts)


def ready_shapes(fleet: Fleet | None) -> dict[WorkloadKey, dict[str, Shape]]:
    """Return what every ready pod runs on, by workload."""
    if fleet is None:
        return {}
    return {
        standing.key: {r.pod: r.shape for v in standing.variants for r in v.replicas if r.serves}
        for standing in fleet.standings
    }


def _minute(at_s: float) -> str:
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
