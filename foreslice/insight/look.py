"""One look at a fleet as settings name it: judged and decided as the service does, and nothing written."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from actuator.diff import diff
from actuator.ports import Cluster, PlanRecord
from allocator.decide import Question
from fleet.errors import RefusedError, UnavailableError
from fleet.workload import Mode, Workload, WorkloadKey
from foreslice import show
from foreslice.clock import WallClock
from foreslice.compose import loop_of, surroundings_of
from foreslice.doors import api_server_of
from foreslice.lease import led_s_ago
from foreslice.selection import load_settled
from foreslice.settings.load import workloads_of
from foreslice.settings.schema import KubernetesCluster, Settings
from foreslice.tick import Tick


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen.

    Attributes:
        settings: As they are in the file.
        workloads: All of them, also those that are off.
        tick: What a tick saw and decided.
        question: What a plan would be made from, `None` where no cluster is seen.
        plans: The kept plans of each workload, newest first.
        objections: What the cluster has against writing what was decided, by workload.
        led_s_ago: How long ago a leader renewed its lease, `None` if nobody ever did.
    """

    settings: Settings
    workloads: tuple[Workload, ...]
    tick: Tick
    question: Question | None
    plans: dict[WorkloadKey, tuple[PlanRecord, ...]]
    objections: dict[WorkloadKey, tuple[str, ...]]
    led_s_ago: float | None

    @property
    def looked_after(self) -> tuple[Workload, ...]:
        """Those that a tick looks at."""
        return tuple(workload for workload in self.workloads if workload.mode is not Mode.OFF)

    @property
    def is_simulated(self) -> bool:
        """Whether cards and engines are those of the simulated fleet."""
        return self.settings.cluster.kind == "embedded"


def look(config: Path) -> Look:
    """Return what is seen once from here; foreslice itself need not run.

    Raises:
        InputError: Settings cannot be used.
        UnavailableError: Metrics or cluster did not answer.
    """
    settings = load_settled(config)
    workloads = workloads_of(settings)
    watching = settings.model_copy(update={"acting": False})
    with show.console(to_stderr=True).status("reading metrics and cluster"):
        with closing(surroundings_of(watching, config.parent)) as surroundings:
            loop = loop_of(watching, surroundings)
            loop.forecast()
            if loop.forecast_trouble:
                raise UnavailableError(loop.forecast_trouble)
            loop.plan()
            loop.standby()
            tick, cluster = loop.tick(), surroundings.cluster
            plans = {w.key: cluster.plans(w.key) for w in workloads} if cluster is not None else {}
            objections = _objections(cluster, tick) if cluster is not None else {}
            seen = Look(settings, workloads, tick, loop.question(), plans, objections, None)
        if not isinstance(settings.cluster, KubernetesCluster):
            return seen
        with closing(api_server_of(settings.cluster, config.parent)) as server:
            led = led_s_ago(server, settings.cluster.lease_namespace, WallClock().now_s())
    return replace(seen, led_s_ago=led)


def _objections(cluster: Cluster, tick: Tick) -> dict[WorkloadKey, tuple[str, ...]]:
    """Return what speaks against what was decided, whether or not the mode would let it be done."""
    found: dict[WorkloadKey, tuple[str, ...]] = {}
    for change in diff(tick.fleet, tick.decisions, tick.at_s) if tick.fleet is not None else ():
        try:
            rewrites = cluster.rehearse(change, change.steps)
        except RefusedError as error:
            found[change.target] = (str(error),)
        else:
            found[change.target] = tuple(rewrite.objection for rewrite in rewrites if rewrite.objection)
    return found
