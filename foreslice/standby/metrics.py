"""What Prometheus gets to see of the standby pool."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily

from actuator.standby.course import Verb
from actuator.standby.keeper import Done
from fleet.standby import PoolSlice, Sleeper
from foreslice.standby.terms import PoolView

_GIB = 1 << 30

STATES = ("asleep", "awake", "turning")
WAKE_BUCKETS_S = (0.5, 1.0, 2.0, 3.0, 5.0, 7.5, 10.0, 15.0, 20.0, 30.0, 60.0)
"""A wake is to take ten seconds, is not counted on after twenty and stuck after sixty: bucket edges."""


class Wakes:
    """Counts what became of wakes.

    Args:
        registry: Where it is exported.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._seconds = Histogram(
            "foreslice_standby_wake_seconds",
            "From a slice being held for an engine to its being awake and sent requests.",
            buckets=WAKE_BUCKETS_S,
            registry=registry,
        )
        self._stuck = Counter(
            "foreslice_standby_stuck",
            "Engines of the pool that did not wake, load or sleep in time, and are left alone for a while.",
            ("namespace", "workload"),
            registry=registry,
        )

    def observe(self, turned: Iterable[Done]) -> None:
        """Count what one turn of the pool did."""
        for done in turned:
            if done.problem:
                continue
            if done.act.verb is Verb.OPEN:
                self._seconds.observe(done.held_s)
            elif done.act.verb is Verb.BAR:
                key = done.act.workload
                self._stuck.labels(key.namespace, key.name).inc()


def pool_gauges(view: PoolView) -> Iterator[GaugeMetricFamily]:
    """Yield how the pool stands; of a namespace with slices every state is told, also of no engine."""
    count = Tally((pool.namespace, _state(pool, each)) for pool in view.slices for each in pool.sleepers)
    engines = GaugeMetricFamily(
        "foreslice_standby_engines",
        "Engines in the standby pool; state is asleep, awake (requests are sent to it) or turning.",
        labels=("namespace", "state"),
    )
    for namespace in sorted({pool.namespace for pool in view.slices}):
        for state in STATES:
            engines.add_metric((namespace, state), count[namespace, state])
    yield engines
    for name, about, slices in (
        ("asked", "Slices of the standby pool that a workload asks for.", view.asks),
        ("short", "Slices of the standby pool that a workload asks for in vain.", view.short),
    ):
        family = GaugeMetricFamily(
            f"foreslice_standby_{name}_slices", about, labels=("namespace", "workload")
        )
        for key, number in slices.items():
            family.add_metric((key.namespace, key.name), number)
        yield family
    yield from _memory_gauges(view)


def _memory_gauges(view: PoolView) -> Iterator[GaugeMetricFamily]:
    """Yield what is reckoned with for engines that sleep, and on how many readings that rests."""
    labels = ("namespace", "workload", "of")
    taken = GaugeMetricFamily(
        "foreslice_standby_memory_bytes",
        "Memory reckoned with for a sleeping engine; of is host (its node's) or device (its slice's).",
        labels=labels,
    )
    read = GaugeMetricFamily(
        "foreslice_standby_memory_readings",
        "Readings that were taken of it while engines of its model slept; with few a prior may stand.",
        labels=labels,
    )
    for key, (bed, measured) in view.beds_in_use.items():
        for of, gib, highest in (
            ("host", bed.host_gib, measured.host),
            ("device", bed.context_gib, measured.context),
        ):
            taken.add_metric((key.namespace, key.name, of), gib * _GIB)
            read.add_metric((key.namespace, key.name, of), highest.readings)
    yield taken
    yield read


def _state(pool: PoolSlice, sleeper: Sleeper) -> str:
    if sleeper.is_open:
        return "awake"
    is_held = pool.hold is not None and pool.hold.workload == sleeper.workload
    return "asleep" if sleeper.is_up and not is_held else "turning"
