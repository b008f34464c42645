"""The composition root: where settings choose the adapters behind the ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

import structlog

from actuator.kube.apiserver import ApiServer
from actuator.kube.nodes import NodeDoor, PluginDoor
from actuator.notice import Notice
from actuator.ports import Cluster
from allocator.need import Timing
from capacity.catalogue import MODELS, ModelSpec
from capacity.estimate import CapacityModel
from capacity.hardware import is_known, speed_of
from fleet.boards import BOARDS, H100_80GB, Board
from fleet.errors import InputError, UnavailableError
from fleet.workload import Mode, Workload, WorkloadKey
from foreslice.attached import Attached
from foreslice.clock import Clock, WallClock
from foreslice.doors import access_of, api_server_of
from foreslice.forecasting import GatedLadders
from foreslice.notches import Learnt
from foreslice.outlook import Observatory
from foreslice.repartition import Repartition
from foreslice.reslicing import Reslicing
from foreslice.rules import Rules
from foreslice.settings.load import (
    beside_of,
    matches_of,
    models_of,
    rules_of,
    rung_of,
    spreading_of,
    workloads_of,
)
from foreslice.settings.recipe_file import shipped
from foreslice.settings.schema import EmbeddedCluster, KubernetesCluster, NoCluster, Settings
from foreslice.settings.sources import FileMetrics, PrometheusMetrics
from foreslice.shelf import shelf_of
from foreslice.standby.made import HttpDoorsOnce, Ports, simulated, standby_of
from foreslice.standby.pool import Standby
from foreslice.tick import Loop
from foreslice.training import Workshop
from foreslice.under_way import Ahead
from predictor.calendar import Calendar
from predictor.demand import HISTORY_SIGNALS
from predictor.learning import Train
from predictor.ports import Forecaster, MemorySource, MetricsSource
from predictor.recipe import Guest, Recipe
from predictor.shared import Shelf
from predictor.sources.file import FileSource
from predictor.sources.kept import KeptSource
from predictor.sources.pod_memory import PrometheusMemory
from predictor.sources.prometheus import PrometheusSource
from simulator.tenants import tenants_of
from simulator.world import World, WorldSpec

ELSEWHERE = "settings let embedded metrics only into an embedded cluster"

NO_CARDS = (
    "the cluster has no card that is known: NVIDIA's DRA driver publishes none (ResourceSlices), and the "
    "device plugin of no Node offers any (labels of feature discovery)"
)

WORLD_SEED = 1
"""`foreslice run` always meets the same simulated world."""

LAST_DAY = 10
"""Day of the shipped traffic on which a simulated world starts; the ten before are its history."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the loop runs against.

    Attributes:
        clock: Where time comes from.
        metrics: Where demand is read from.
        cluster: What is acted on, `None` = nothing.
        boards: Kinds of cards.
        before_tick: Called before every tick; moves a simulated world on. Returns what the user has to be
            told about the surroundings, `None` when there is nothing.
        alone: Held by a job while it uses the adapters: a simulated world serves one at a time.
        close: Ends what goes on beside the jobs: watches, and our part in who leads.
        models: Models by what workloads call them.
        tell: Says something where the owner of a workload looks.
        recipe: How the learned rungs are made.
        shelf: Where the model is that workloads share.
        pool: What a standby pool is made of there, `None` = nothing.
        layouts: Keeps layouts of nodes ahead of need, `None` = they are taken as they are.
    """

    clock: Clock
    metrics: MetricsSource
    cluster: Cluster | None
    boards: tuple[Board, ...]
    before_tick: Callable[[], str | None]
    alone: AbstractContextManager[object]
    close: Callable[[], None] = lambda: None
    models: Mapping[str, ModelSpec] = field(default_factory=lambda: MODELS)
    tell: Callable[[Notice], None] = lambda _: None
    recipe: Recipe | Guest = field(default_factory=lambda: shipped("own"))
    shelf: Shelf = field(default_factory=Shelf)
    pool: Ports | None = None
    layouts: Ahead | None = None


class _FileClock:
    """Time stands at the newest row of a recorded file, and moves when the file grows."""

    def __init__(self, source: FileSource) -> None:
        self._source = source

    def now_s(self) -> float:
        return self._source.end_s


class WorldClock:
    """A simulated world's time, one second for each of the machine's, until its traffic ends."""

    def __init__(self, world: World, wall: Clock) -> None:
        self._wall = wall
        self._ahead_s = world.clock.now_s - wall.now_s()
        self._world = world

    def now_s(self) -> float:
        """Return seconds since the epoch, in the world."""
        return min(self._wall.now_s() + self._ahead_s, self._world.end_s)

    def move_world(self) -> str | None:
        """Let the world catch up; say so when there is nothing to catch up with."""
        now_s = max(self.now_s(), self._world.clock.now_s)
        self._world.advance_to(now_s)
        if now_s < self._world.end_s:
            return None
        return "the simulated traffic has ended, and with it time: start again for another day"


def surroundings_of(settings: Settings, folder: Path) -> Surroundings:
    """Return the adapters that the settings choose; relative paths are relative to `folder`.

    Raises:
        InputError: A file that they name cannot be used.
        UnavailableError: The cluster does not answer, so nothing is known of its cards.
    """
    models, recipe = models_of(settings, folder), rung_of(settings, folder)
    shelf = shelf_of(settings.models, folder, settings.learning.allowed)
    return replace(_adapters(settings, folder, models), models=models, recipe=recipe, shelf=shelf)


def _adapters(settings: Settings, folder: Path, models: Mapping[str, ModelSpec]) -> Surroundings:
    outside = _recorded(settings, folder)
    if isinstance(settings.cluster, KubernetesCluster):
        if outside is None:
            raise AssertionError(ELSEWHERE)
        return _in_kubernetes(settings, settings.cluster, folder, outside)
    if isinstance(settings.cluster, NoCluster):
        if outside is None:
            raise AssertionError(ELSEWHERE)
        boards = (BOARDS[settings.cluster.board],)
        return Surroundings(outside.clock, outside.metrics, None, boards, outside.trouble, nullcontext())
    world = _world(settings, settings.cluster, models)
    world_clock = WorldClock(world, WallClock())
    outside = outside or _Outside(world_clock, world.metrics)
    return Surroundings(
        clock=outside.clock,
        metrics=outside.metrics,
        cluster=world.cluster,
        boards=(world.spec.board,),
        before_tick=world_clock.move_world,
        alone=Lock(),
        pool=simulated(world),
    )


def _in_kubernetes(
    settings: Settings, chosen: KubernetesCluster, folder: Path, outside: _Outside
) -> Surroundings:
    keys = [workload.key for workload in workloads_of(settings)]
    server = api_server_of(chosen, folder)
    attached = Attached(
        server,
        {key.namespace for key in keys},
        chosen.lease_namespace if settings.acting else None,
        spreading_of(settings),
        beside=beside_of(settings),
        holds=_may_hold(settings),
    )
    standby = settings.standby
    token = folder / standby.token_file if standby is not None and standby.token_file is not None else None
    with ExitStack() as undo:
        undo.callback(attached.close)
        doors = HttpDoorsOnce(attached.fence, token)
        undo.callback(doors.close)
        boards = _boards(attached.cluster, keys)
        opened = undo.pop_all()
    return Surroundings(
        outside.clock,
        outside.metrics,
        attached.cluster,
        boards,
        outside.trouble,
        nullcontext(),
        opened.close,
        tell=attached.tell,
        pool=(attached.pool, doors, outside.memory),
        layouts=_layouts(settings, server, attached.fence),
    )


def _layouts(settings: Settings, server: ApiServer, fence: Callable[[], object]) -> Ahead | None:
    """Return what keeps layouts of nodes ahead of need, `None` where settings want none kept."""
    if settings.layouts is None:
        return None
    rules = settings.layouts.rules(acting=settings.acting)
    namespace, _, name = (settings.layouts.manager or settings.layouts.plugin or "").partition("/")
    if settings.layouts.manager is None:
        return Reslicing(PluginDoor(server, namespace, name, fence), rules)
    return Repartition(NodeDoor(server, namespace, name, fence), rules)


def _boards(cluster: Cluster, keys: list[WorkloadKey]) -> tuple[Board, ...]:
    """Return the kinds of cards that work can be reckoned on; others are left out, and named in the log."""
    boards = cluster.view(keys).boards()
    if not boards:
        raise UnavailableError(NO_CARDS)
    sized = tuple(board for board in boards if is_known(board))
    if not sized:
        speed_of(boards[0])
    for board in set(boards) - set(sized):
        structlog.get_logger().warning("cards left out: nothing is known about their speed", board=board.id)
    return sized


@dataclass(frozen=True, slots=True)
class _Outside:
    """What demand and memory are recorded by, the clock, and what is wrong that costs no answer."""

    clock: Clock
    metrics: MetricsSource
    trouble: Callable[[], str | None] = lambda: None
    memory: MemorySource | None = None


def _recorded(settings: Settings, folder: Path) -> _Outside | None:
    """Return what demand is recorded by, `None` for simulated engines."""
    metrics = settings.metrics
    if isinstance(metrics, FileMetrics):
        source = FileSource(folder / metrics.path, matches_of(settings))
        return _Outside(_FileClock(source), source)
    if isinstance(metrics, PrometheusMetrics):
        access = access_of(metrics, folder)
        prometheus = PrometheusSource(
            metrics.url, matches_of(settings), access=access, scraper_labels=metrics.replica_labels
        )
        memory = PrometheusMemory(metrics.url, access) if settings.standby is not None else None
        if settings.history is None:
            return _Outside(WallClock(), prometheus, memory=memory)
        kept = KeptSource(
            prometheus,
            folder / settings.history.path,
            prometheus.origins(),
            HISTORY_SIGNALS,
            settings.loop.history,
        )
        return _Outside(WallClock(), kept, lambda: kept.trouble or None, memory)
    return None


def have_same_surroundings(settings: Settings, other: Settings) -> bool:
    """Return whether both choose the same adapters: those outlive a change of anything else."""
    return _outside(settings) == _outside(other)


def _outside(settings: Settings) -> tuple[object, ...]:
    served = [
        (w.namespace, w.name, w.model, w.slo, w.match, w.router_match, w.engine, w.mechanism)
        for w in settings.workloads
    ]
    leads = settings.acting and isinstance(settings.cluster, KubernetesCluster)
    kept = settings.history and (settings.history, settings.loop.history)
    learned = settings.learning, settings.models
    adapters = settings.metrics, settings.engines, settings.cluster, _may_hold(settings), settings.layouts
    standby = settings.standby and (settings.standby.sleepers, settings.standby.token_file)
    return *adapters, learned, served, leads, kept, spreading_of(settings), beside_of(settings), standby


def _may_hold(settings: Settings) -> bool:
    return settings.acting and settings.holding is not None


def _world(settings: Settings, cluster: EmbeddedCluster, models: Mapping[str, ModelSpec]) -> World:
    """Return a simulated fleet that serves the settings' workloads, on the last of the shipped days."""
    workloads = workloads_of(settings)
    capacity = CapacityModel([H100_80GB], models)
    for workload in workloads:
        if capacity.reference(workload).cards > 1:
            raise InputError(
                f"model {workload.model} fits on no single card, and simulated replicas have one",
                where=f"workload {workload.key}",
                fix="name a smaller model or a shorter max_model_len, or another cluster.kind",
            )
    spec = WorldSpec(
        tenants_of(workloads, capacity, WORLD_SEED),
        LAST_DAY,
        nodes=cluster.nodes,
        gpus_per_node=cluster.cards_per_node,
        models=models,
        spreading=spreading_of(settings),
        sleepers=settings.standby.sleepers if settings.standby is not None else 0,
    )
    return World(spec, WORLD_SEED)


def loop_of(settings: Settings, surroundings: Surroundings) -> Loop:
    """Return the loop that the settings describe, on these adapters."""
    loop = settings.loop
    timing = Timing(
        tick_s=loop.tick,
        lead_s=loop.lead,
        regrow_s=loop.lead,
        dwell_s=loop.dwell,
        shape_dwell_s=loop.shape_dwell,
        quiet_s=loop.quiet,
        trial_s=loop.trial,
    )
    workloads = tuple(w for w in workloads_of(settings) if w.mode is not Mode.OFF)
    learnt = Learnt(surroundings.shelf)
    train = Workshop(surroundings.recipe, learnt.shelf.now, calendars_of(settings)).train
    ladders = ladders_of(surroundings, train, timing, learnt)
    rules = replace(rules_of(settings), standby=_standby_of(settings, surroundings, workloads))
    return make_loop(workloads, surroundings, timing, ladders, loop.history, rules, learnt)


def _standby_of(
    settings: Settings, surroundings: Surroundings, workloads: tuple[Workload, ...]
) -> Standby | None:
    standby = settings.standby
    if standby is None or surroundings.pool is None:
        return None
    kinds = surroundings.boards, workloads, surroundings.models
    return standby_of(standby.terms(), standby.engine, surroundings.pool, *kinds)


def ladders_of(surroundings: Surroundings, train: Train, timing: Timing, learnt: Learnt) -> GatedLadders:
    """Return what makes the forecasters of a loop, each with the gate that it has to pass."""
    return GatedLadders(train, learnt, timing, surroundings.boards, surroundings.models)


def calendars_of(settings: Settings) -> dict[WorkloadKey, Calendar]:
    """Return the calendars of the workloads that have one of their own."""
    return {
        WorkloadKey(one.namespace, one.name): one.calendar.calendar()
        for one in settings.workloads
        if one.calendar is not None
    }


def make_loop(
    workloads: tuple[Workload, ...],
    surroundings: Surroundings,
    timing: Timing,
    make_forecaster: Callable[[Workload], Forecaster],
    history_s: float,
    rules: Rules,
    learnt: Learnt | None = None,
) -> Loop:
    """Return a loop over these workloads; `make_forecaster` is what policies differ in."""
    observatory = Observatory(
        workloads,
        surroundings.metrics,
        CapacityModel(surroundings.boards, surroundings.models),
        surroundings.boards,
        make_forecaster,
        history_s,
    )
    loop = Loop(
        workloads,
        timing,
        surroundings.clock,
        surroundings.metrics,
        observatory,
        surroundings.cluster,
        rules,
        learnt or Learnt(),
    )
    loop.layouts = surroundings.layouts
    return loop
