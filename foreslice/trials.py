"""First uses of a shape: one replica serves for a while inside the objectives before more is built on it.

How far it has come is kept with the plan that added it, minute by minute, so that a new process goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from actuator.evidence import note_trial
from actuator.ports import Cluster
from allocator.need import Timing
from fleet.cluster import Fleet, Replica, Standing
from fleet.demand import NowReading
from fleet.errors import ForesliceError
from fleet.shape import Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey

LONGEST_TURN_S = 60.0
"""A reading speaks of its last minute; what was between two that are further apart, nobody knows."""

NOTED_S = 60.0
"""So much of a trial is not kept yet at most: what a restart costs."""

START_LEADS = 5.0
"""A start that takes so many lead times, which are a high quantile of them already, has failed."""


@dataclass(frozen=True, slots=True)
class _Look:
    """What can be seen of the replicas of one shape at a time."""

    replicas: tuple[Replica, ...]
    reading: NowReading | None
    at_s: float
    passed_s: float

    def after(self, trial: Trial, timing: Timing) -> Trial:
        """Return how far a trial has come by now; between attempts nothing counts."""
        if self.at_s < trial.until_s:
            return trial
        pods = {replica.pod for replica in self.replicas if replica.serves}
        outside, inside = (
            (self.reading.outside, self.reading.inside) if self.reading is not None else (set(), set())
        )
        if pods & outside:
            # Where others are outside too it may be the load, which says nothing of the shape.
            is_alone = outside <= pods
            why = "outside its objectives while all others were inside"
            return trial.failed(why, self.at_s) if is_alone else replace(trial, served_s=0.0)
        if any(self._hangs(replica, trial, timing) for replica in self.replicas):
            return trial.failed(f"not ready {START_LEADS:.0f} lead times after it had a place", self.at_s)
        trial = trial.served(self.passed_s) if pods & inside else trial
        is_proven = trial.served_s >= timing.trial_s and trial.proven_at_s is None
        return replace(trial, proven_at_s=self.at_s) if is_proven else trial

    def _hangs(self, replica: Replica, trial: Trial, timing: Timing) -> bool:
        since_s = replica.scheduled_at_s
        if since_s is None or replica.is_ready or replica.is_leaving:
            return False
        return self.at_s - max(since_s, trial.until_s) > START_LEADS * timing.lead_s


class Trials:
    """Follows replicas of unproven shapes: for how long they have served inside their objectives."""

    def __init__(self) -> None:
        self._trials: dict[tuple[WorkloadKey, Shape], Trial] = {}
        self._kept: dict[tuple[WorkloadKey, Shape], Trial] = {}
        self._at_s: float | None = None

    def turn(
        self,
        fleet: Fleet,
        readings: Mapping[WorkloadKey, NowReading],
        timing: Mapping[WorkloadKey, Timing],
        at_s: float,
    ) -> None:
        """Take in what pods did in the last minute; one that is beyond its objectives begins anew."""
        passed_s = 0.0 if self._at_s is None else min(at_s - self._at_s, LONGEST_TURN_S)
        self._at_s = at_s
        before, self._trials, self._kept = self._trials, {}, {}
        for standing in fleet.standings:
            for shape, replicas in _on_trial(standing):
                held = standing.key, shape
                self._kept[held] = standing.trials.get(shape, Trial())
                look = _Look(replicas, readings.get(standing.key), at_s, passed_s)
                # What was given up is kept by who took its replicas back.
                kept = self._kept[held].as_of(at_s)
                trial = (kept if kept.is_over else before.get(held, kept)).as_of(at_s)
                self._trials[held] = look.after(trial, timing[standing.key])

    def keep(self, cluster: Cluster) -> None:
        """Note in their plans how far shapes have come; on trouble the next turn does it."""
        for (key, shape), trial in self._trials.items():
            if _is_news(trial, self._kept[key, shape]):
                with suppress(ForesliceError):
                    note_trial(cluster, key, shape, trial)


def _on_trial(standing: Standing) -> Iterator[tuple[Shape, tuple[Replica, ...]]]:
    """Yield the shapes that are not proven, each with its replicas."""
    for variant in standing.variants:
        # During a rollout those of the earlier template say nothing of the new one's shape.
        replicas = tuple(replica for replica in variant.replicas if not replica.is_old)
        if replicas and not standing.is_proven(variant.shape):
            yield variant.shape, replicas


def _is_news(trial: Trial, kept: Trial) -> bool:
    return (
        trial.failures != kept.failures
        or (trial.proven_at_s is not None) != (kept.proven_at_s is not None)
        or abs(trial.served_s - kept.served_s) >= NOTED_S
    )
