"""What foreslice says about itself in Prometheus' terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from fleet.cluster import Fleet
from fleet.occupancy import blast_radius, cards_in
from fleet.shape import Configuration
from fleet.workload import WorkloadKey
from foreslice.standby.metrics import Wakes, pool_gauges
from foreslice.tick import Tick

TICK_BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""The tick's own work is to stay under 0.2 s, which is a bucket edge."""

_WORKLOAD = ("namespace", "workload")
_GPU = ("node", "gpu")


class Telemetry(Collector):
    """The service's metrics, in a registry of their own.

    What a tick saw is put together when it is asked for, all from the newest tick: what is unknown, or
    of a workload that is no longer looked after, is not exported, never exported as zero.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._seen: Tick | None = None
        self.registry.register(self)
        self._steps = Counter(
            "foreslice_steps",
            "Steps of changes by verb and outcome.",
            ("verb", "outcome"),
            registry=self.registry,
        )
        self.wakes = Wakes(self.registry)
        self.failures = Counter(
            "foreslice_job_failures",
            "Jobs that ended in an error nobody expected: bugs.",
            ("task",),  # Prometheus has a use of its own for `job`
            registry=self.registry,
        )
        self.settings_usable = Gauge(
            "foreslice_settings_usable",
            "1 while the settings file can be used, 0 while the last good settings go on.",
            registry=self.registry,
        )
        self.tick_seconds = Histogram(
            "foreslice_tick_seconds", "Own work of one tick.", buckets=TICK_BUCKETS_S, registry=self.registry
        )

    def observe(self, tick: Tick) -> None:
        """Export what one tick saw and did."""
        for result in tick.results:
            self._steps.labels(result.step.verb, result.outcome).inc()
        self._seen = tick

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return what the newest tick saw."""
        return _gauges(self._seen) if self._seen is not None else ()


def _gauges(tick: Tick) -> Iterator[GaugeMetricFamily]:
    needs = tick.needs.items()
    kinds = (
        *((key, ("up",), need.up) for key, need in needs),
        *((key, ("keep",), need.keep) for key, need in needs),
        *((key, ("reactive",), need.reactive) for key, need in needs if need.reactive is not None),
    )
    yield _by_workload(
        "foreslice_need_replicas",
        "Work needed, in full reference replicas; kind is up, keep or reactive.",
        kinds,
        "kind",
    )
    yield _by_workload(
        "foreslice_forecast_peak_replicas",
        "Forecast peak of work, in full reference replicas.",
        (
            (key, (str(window_s), str(quantile)), work)
            for key, outlook in tick.outlooks.items()
            if outlook.forecast is not None
            for (window_s, quantile), work in outlook.forecast.peaks.items()
        ),
        "window_s",
        "q",
    )
    yield _by_workload(
        "foreslice_highest_work_replicas",
        "Highest work seen, in full reference replicas: forecasts above it have nothing to go by.",
        (
            (key, (), outlook.forecast.highest)
            for key, outlook in tick.outlooks.items()
            if outlook.forecast is not None and isfinite(outlook.forecast.highest)
        ),
    )
    yield _by_workload(
        "foreslice_forecast_age_seconds",
        "Age of the newest bucket that forecasts have seen.",
        (
            (key, (), tick.at_s - outlook.end_s)
            for key, outlook in tick.outlooks.items()
            if not outlook.is_blind
        ),
    )
    worths = [
        (key, outlook.forecast.worth)
        for key, outlook in tick.outlooks.items()
        if outlook.forecast is not None and outlook.forecast.worth is not None
    ]
    yield _by_workload(
        "foreslice_forecast_used",
        "1 where the forecast decides, 0 where a rule does in its place.",
        ((key, (), float(worth.is_used)) for key, worth in worths),
    )
    yield _by_workload(
        "foreslice_forecast_value",
        "Part of what could be saved that forecasts saved of late, beside the best rule without one.",
        (
            (key, (end,), number)
            for key, worth in worths
            for end, number in (("mid", worth.value), ("low", worth.low), ("high", worth.high))
            if number is not None
        ),
        "end",
    )
    yield _by_workload(
        "foreslice_demand_drift_ratio",
        "Distance of the last 12 h of demand to the day most like it; above 1 they are like no day before.",
        (
            (key, (), outlook.forecast.drift.times_limit)
            for key, outlook in tick.outlooks.items()
            if outlook.forecast is not None and outlook.forecast.drift is not None
        ),
    )
    shadow = GaugeMetricFamily(
        "foreslice_shadow_loss_ratio",
        "Loss of a stored model that does not serve over that of the one that does, on the same windows.",
        labels=("version", "champion"),
    )
    if tick.shadow is not None and tick.shadow.ratio is not None:
        shadow.add_metric((tick.shadow.version, tick.shadow.champion), tick.shadow.ratio)
    yield shadow
    yield _by_workload(
        "foreslice_capacity_replicas",
        "Work that one replica of a shape carries at least, in full reference replicas, by what it rests on.",
        (
            (key, (str(shape), offer.source), offer.work)
            for key, outlook in tick.outlooks.items()
            for shape, offer in outlook.offers.by_shape.items()
        ),
        "shape",
        "source",
    )
    yield _by_workload(
        "foreslice_lead_seconds",
        "Time from decided to ready that is reckoned with, at the quantile of the workload's tier.",
        ((key, (), timing.lead_s) for key, timing in tick.timing.items()),
    )
    yield _by_workload(
        "foreslice_target_replicas",
        "Replicas that should be asked for, by shape.",
        (
            (decision.workload, (str(shape),), replicas)
            for decision in tick.decisions
            for shape, replicas in decision.goal.counts.items()
        ),
        "shape",
    )
    yield _by_workload(
        "foreslice_short_replicas",
        "Work that no allowed configuration carries, in full reference replicas.",
        ((decision.workload, (), decision.short) for decision in tick.decisions),
    )
    yield from _standings(tick)
    if tick.leads is not None:
        yield GaugeMetricFamily(
            "foreslice_leads", "1 while this process may write, 0 while another one does.", tick.leads
        )
    yield GaugeMetricFamily(
        "foreslice_conditions", "Reasons for which something is not done now.", len(tick.conditions)
    )
    if tick.pool is not None:
        yield from pool_gauges(tick.pool)
    if tick.fleet is not None:
        yield GaugeMetricFamily(
            "foreslice_gpus_in_use", "Cards with an allocated device.", tick.fleet.gpus_in_use
        )
        yield GaugeMetricFamily(
            "foreslice_gpus_if_packed",
            "Cards that the allocated devices would take under free layouts.",
            tick.cards_if_packed,
        )
        yield from _cards(tick.fleet)
    if tick.target is not None:
        yield GaugeMetricFamily(
            "foreslice_gpus_target", "Cards that the cheapest packing found takes.", tick.target.cards
        )
        yield GaugeMetricFamily(
            "foreslice_gpus_least",
            "Least cost of the cards of any packing of what must be kept, in cards where all cost the same.",
            tick.target.least,
        )
        yield GaugeMetricFamily(
            "foreslice_target_gap_ratio",
            "Part by which the target may take more cards than the best packing, 0 = proven best.",
            tick.target.gap,
        )


def _standings(tick: Tick) -> Iterator[GaugeMetricFamily]:
    """Yield how workloads stand, where a cluster is looked at."""
    standings = tick.fleet.standings if tick.fleet is not None else ()
    goals = {decision.workload: decision.goal for decision in tick.decisions}
    yield _by_workload(
        "foreslice_carried_replicas",
        "Work that what is ready carries at least, in full reference replicas.",
        (
            (standing.key, (), tick.outlooks[standing.key].offers.carried(standing.ready))
            for standing in standings
            if standing.key in tick.outlooks
        ),
    )
    yield _by_workload(
        "foreslice_standing_replicas",
        "Replicas by shape; state is ready, wanted (what is asked for) or goal (what should be).",
        (
            (standing.key, (str(shape), state), number)
            for standing in standings
            for state, configuration in (
                ("ready", standing.ready),
                ("wanted", standing.wanted),
                ("goal", goals.get(standing.key, Configuration())),
            )
            for shape, number in configuration.counts.items()
        ),
        "shape",
        "state",
    )


def _cards(fleet: Fleet) -> Iterator[GaugeMetricFamily]:
    """Yield how cards are shared; cards that hold nothing are told too, so that a sum over them is whole."""
    granted = GaugeMetricFamily(
        "foreslice_gpu_granted_ratio",
        "Part of a card that is allocated, by resource.",
        labels=(*_GPU, "resource"),
    )
    stranded = GaugeMetricFamily(
        "foreslice_gpu_stranded_ratio",
        "Part of a card that is free in memory or compute alone, so that no share in proportion can have it.",
        labels=_GPU,
    )
    tenants = GaugeMetricFamily(
        "foreslice_gpu_tenants", "Tenants of a card: all of them fall when it fails.", labels=_GPU
    )
    for view in cards_in(fleet):
        about = (view.card.node, view.card.uuid)
        for resource, share in (("memory", view.memory_granted), ("compute", view.compute_granted)):
            if share is not None:
                granted.add_metric((*about, resource), share)
        if view.stranded is not None:
            stranded.add_metric(about, view.stranded)
        tenants.add_metric(about, len(view.tenants))
    yield from (granted, stranded, tenants)
    yield _by_workload(
        "foreslice_blast_radius_ratio",
        "Largest part of a workload's ready replicas that falls with one card.",
        (
            (standing.key, (), share)
            for standing in fleet.standings
            if (share := blast_radius(standing)) is not None
        ),
    )


def _by_workload(
    name: str, about: str, rows: Iterable[tuple[WorkloadKey, tuple[str, ...], float]], *labels: str
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=(*_WORKLOAD, *labels))
    for key, values, number in rows:
        family.add_metric((key.namespace, key.name, *values), number)
    return family
