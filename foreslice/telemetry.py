"""What foreslice says about itself in Prometheus' terms."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fleet.demand import QUANTILES
from foreslice.tick import Tick

TICK_BUCKETS_S = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
"""The tick's own work is to stay under 0.2 s, which is a bucket edge."""


class Telemetry:
    """The service's metrics, in a registry of their own.

    Gauges of a workload carry the labels `namespace` and `workload`; a value that is unknown is not
    exported, never exported as zero.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        workload = ("namespace", "workload")
        self._need = Gauge(
            "foreslice_need_replicas",
            "Work needed, in full reference replicas; kind is up, keep or reactive.",
            (*workload, "kind"),
            registry=self.registry,
        )
        self._peak = Gauge(
            "foreslice_forecast_peak_replicas",
            "Forecast peak of work, in full reference replicas.",
            (*workload, "window_s", "quantile"),
            registry=self.registry,
        )
        self._age = Gauge(
            "foreslice_forecast_age_seconds", "Age of the newest forecast.", workload, registry=self.registry
        )
        self._short = Gauge(
            "foreslice_short_replicas",
            "Work that no allowed configuration carries, in full reference replicas.",
            workload,
            registry=self.registry,
        )
        self._cards = Gauge(
            "foreslice_gpus_in_use", "Cards with an allocated device.", registry=self.registry
        )
        self._packed = Gauge(
            "foreslice_gpus_if_packed",
            "Cards that the allocated devices would take under free layouts.",
            registry=self.registry,
        )
        self._steps = Counter(
            "foreslice_steps",
            "Steps of changes by verb and outcome.",
            ("verb", "outcome"),
            registry=self.registry,
        )
        self._conditions = Gauge(
            "foreslice_conditions", "Reasons for which something is not done now.", registry=self.registry
        )
        self.tick_seconds = Histogram(
            "foreslice_tick_seconds", "Own work of one tick.", buckets=TICK_BUCKETS_S, registry=self.registry
        )

    def observe(self, tick: Tick) -> None:
        """Export what one tick saw and did."""
        for key, need in tick.needs.items():
            labels = (key.namespace, key.name)
            self._need.labels(*labels, "up").set(need.up)
            self._need.labels(*labels, "keep").set(need.keep)
            if need.reactive is None:
                self._need.remove_by_labels(
                    {"namespace": key.namespace, "workload": key.name, "kind": "reactive"}
                )
            else:
                self._need.labels(*labels, "reactive").set(need.reactive)
        for key, outlook in tick.outlooks.items():
            self._age.labels(key.namespace, key.name).set(tick.at_s - outlook.end_s)
            if outlook.forecast is not None:
                for (window_s, quantile), work in outlook.forecast.peaks.items():
                    if quantile in QUANTILES:
                        self._peak.labels(key.namespace, key.name, window_s, quantile).set(work)
        for decision in tick.decisions:
            self._short.labels(decision.workload.namespace, decision.workload.name).set(decision.short)
        for result in tick.results:
            self._steps.labels(result.step.verb, result.outcome).inc()
        if tick.fleet is not None:
            self._cards.set(tick.fleet.gpus_in_use)
            self._packed.set(tick.cards_if_packed)
        self._conditions.set(len(tick.conditions))
