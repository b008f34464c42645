"""Days through the service's own loop on a simulated fleet, under a virtual clock.

The three jobs run inline, in a fixed order, at their virtual times; what `forecast` and `plan` work
out is used from the next tick on, which stands for the time that they take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from actuator.outcome import Outcome
from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.change import Verb
from fleet.cluster import Gpu
from fleet.workload import Mode, Workload, WorkloadKey
from foreslice.clock import BUCKET_LAG_S
from foreslice.compose import LAST_DAY, Surroundings, ladders_of, make_loop
from foreslice.notches import Learnt
from foreslice.rules import Rules
from foreslice.settings.learning import SharedModelSettings
from foreslice.shelf import shelf_of
from foreslice.tick import Loop, Tick
from foreslice.training import here
from predictor.forecasters.hold import Hold
from predictor.ports import BUCKET_S, Floats, Forecaster, WorkSeries
from simulator.account import Summary, layouts
from simulator.rivals.oracle import OraclePeaks
from simulator.tenants import shipped_tenants
from simulator.traffic import DAY_S, MINUTE_S
from simulator.world import World, WorldSpec

DRAWN_WINDOW_S = 300
"""Window whose forecast peaks are kept for pictures."""

AIM_EVERY_S = 300
"""How often a replay works out where the whole fleet should be, virtual seconds."""

PROGRESS_EVERY_S = 600
"""How often a replay says how far it is, virtual seconds."""

DRAWN_LOW, DRAWN_HIGH = 0.90, 0.99
"""Quantiles between which pictures show the forecast."""


class Policy(StrEnum):
    """Who decides in a replay."""

    FORESLICE = "foreslice"
    FORECAST_OFF = "forecast off"
    STATIC = "static whole GPU"
    ORACLE = "oracle"


@dataclass(frozen=True, slots=True)
class Day:
    """What is replayed.

    Attributes:
        seed: Draws arrivals, delays and the engines' hidden truth.
        spec: Makes the fleet and its traffic; the days before its first are history. Other processes make
            their own.
        length_s: How much of it.
        timing: Times that decisions look across.
        traffic: What the rates of its traffic are, for people.
    """

    seed: int
    spec: Callable[[], WorldSpec]
    length_s: int = DAY_S
    timing: Timing = field(default_factory=Timing)
    traffic: str = "real request rates of ten-minute steps, who sent how much when"


def shipped_day(seed: int, length_s: int = DAY_S) -> Day:
    """Return the last day of the shipped traffic, its tenants' sizes drawn by seed."""
    return Day(seed, partial(_shipped, seed), length_s)


def _shipped(seed: int) -> WorldSpec:
    return WorldSpec(shipped_tenants(CapacityModel([H100_80GB]), seed), LAST_DAY)


@dataclass(frozen=True, slots=True)
class Peaks:
    """Forecast peaks of one workload over a day, for pictures.

    Attributes:
        at_s: When each forecast was made.
        window_s: Window that they speak of.
        low: Lower quantile drawn.
        high: Upper quantile drawn.
    """

    at_s: Floats
    window_s: int
    low: Floats
    high: Floats


@dataclass(frozen=True, slots=True)
class StepTaken:
    """One step that was written."""

    at_s: float
    workload: WorkloadKey
    verb: Verb
    variant: str
    replicas: int
    because: str


@dataclass(frozen=True, slots=True)
class Held:
    """Memory slices of one card in a workload's hands for a while.

    Attributes:
        workload: Whose.
        profile: MIG profile, `None` for a whole card.
        card: Which card, counted in published order.
        first_slice: Lowest memory slice held.
        slices: Number of memory slices held.
        from_s: Since when, seconds since the epoch, not before the day.
        until_s: Until when, not after the day.
    """

    workload: WorkloadKey
    profile: str | None
    card: int
    first_slice: int
    slices: int
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a day under one policy.

    Attributes:
        policy: Who decided.
        summary: Figures.
        minutes_s: Start of each minute, seconds since the epoch.
        cards_in_use: Cards with an allocated device, by minute.
        work: Offered work by workload and minute.
        capacity: Ready capacity by workload and minute, lower bound; empty for a policy without a loop.
        peaks: Forecasts by workload; likewise.
        cards: Number of cards in the fleet.
        board: Their kind.
        held: What was held of them, in order of time.
        steps: What was written, in order.
        rungs: Forecaster in use at the end, by workload.
    """

    policy: Policy
    summary: Summary
    minutes_s: Floats
    cards_in_use: NDArray[np.int64]
    work: Mapping[WorkloadKey, Floats]
    capacity: Mapping[WorkloadKey, Floats]
    peaks: Mapping[WorkloadKey, Peaks]
    cards: int
    board: str
    held: tuple[Held, ...]
    steps: tuple[StepTaken, ...]
    rungs: Mapping[WorkloadKey, str]


@dataclass(frozen=True, slots=True)
class TenantNow:
    """How one workload stands at a moment of a replay; work in full reference replicas.

    Attributes:
        name: Its name.
        asked: Work asked for now, `None` where it is unknown.
        expected: Peak forecast within the lead time, 0 without a forecast.
        ready: Work that what is ready carries, lower bound.
        runs_on: What is asked for of the cluster.
    """

    name: str
    asked: float | None
    expected: float
    ready: float
    runs_on: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is, for people who wait.

    Attributes:
        policy: Who decides.
        done: Share of the day that is over.
        at_s: Virtual time, seconds since the epoch.
        cards_in_use: Cards with an allocated device.
        tenants: How the workloads stand; empty for a policy without a loop.
        layout: By card and memory slice, who holds it: 0 = nobody, n = the n-th tenant.
        step: The last step that was written, with its reason.
    """

    policy: Policy
    done: float
    at_s: float
    cards_in_use: int
    tenants: tuple[TenantNow, ...]
    layout: tuple[tuple[int, ...], ...]
    step: StepTaken | None


def replay(policy: Policy, day: Day, on_progress: Callable[[Progress], None] = lambda _: None) -> Replayed:
    """Return what comes of a day under a policy. The same arguments give the same result, to the byte."""
    world = World(day.spec(), day.seed)
    workloads = tuple(replace(tenant.workload, mode=Mode.FULL) for tenant in world.spec.tenants)
    recorder = _Recorder(policy, world, workloads)
    loop = None if policy is Policy.STATIC else _loop(policy, world, workloads, day)
    end_s = world.start_s + day.length_s
    for at_s in range(world.start_s, end_s + 1, round(day.timing.tick_s)):
        world.advance_to(at_s)
        if loop is not None:
            recorder.note(loop.tick())
            if at_s % BUCKET_S == BUCKET_LAG_S or at_s == world.start_s:
                loop.forecast()
                loop.plan()
            if at_s % AIM_EVERY_S == BUCKET_LAG_S:
                loop.aim()
        if at_s % PROGRESS_EVERY_S == 0:
            on_progress(recorder.progress(at_s, (at_s - world.start_s) / day.length_s))
    return recorder.result(end_s)


def _loop(policy: Policy, world: World, workloads: tuple[Workload, ...], day: Day) -> Loop:
    around = inside(world)
    learnt = Learnt(around.shelf)
    ladders = ladders_of(around, here(around.recipe, learnt.shelf.now), day.timing, learnt)

    def forecaster(workload: Workload) -> Forecaster:
        match policy:
            case Policy.FORECAST_OFF:
                return Hold(workload.key)
            case Policy.ORACLE:
                return OraclePeaks(world.truth(workload.key))
            case _:
                return ladders(workload)

    history_s = world.spec.start_day * DAY_S
    return make_loop(workloads, around, day.timing, forecaster, history_s, Rules(acting=True), learnt)


def inside(world: World) -> Surroundings:
    """Return a simulated world as surroundings in whose time the loop lives; whoever ticks moves it on."""
    return Surroundings(
        clock=_WorldClock(world),
        metrics=world.metrics,
        cluster=world.cluster,
        boards=(world.spec.board,),
        before_tick=lambda: None,
        alone=nullcontext(),
        shelf=shelf_of(SharedModelSettings(), Path()),
    )


class _WorldClock:
    def __init__(self, world: World) -> None:
        self._world = world

    def now_s(self) -> float:
        return self._world.clock.now_s


class _Recorder:
    """Keeps what a picture of the day needs."""

    def __init__(self, policy: Policy, world: World, workloads: tuple[Workload, ...]) -> None:
        self._policy = policy
        self._world = world
        self._keys = [workload.key for workload in workloads]
        self._capacity: dict[WorkloadKey, list[float]] = {key: [] for key in self._keys}
        self._peaks: dict[WorkloadKey, dict[float, tuple[float, float]]] = {key: {} for key in self._keys}
        self._rungs: dict[WorkloadKey, str] = {}
        self._steps: list[StepTaken] = []
        self._last: Tick | None = None

    def note(self, tick: Tick) -> None:
        """Take in one tick."""
        self._last = tick
        self._steps += [
            StepTaken(tick.at_s, r.target, r.step.verb, r.step.variant, r.step.replicas, r.reason)
            for r in tick.results
            if r.outcome in {Outcome.DONE, Outcome.UNCONFIRMED}
        ]
        if tick.at_s % BUCKET_S or tick.fleet is None:
            return
        for key in self._keys:
            outlook, standing = tick.outlooks.get(key), tick.fleet.standing(key)
            ready = outlook.offers.carried(standing.ready) if outlook and standing else np.nan
            self._capacity[key].append(ready)
            if outlook is not None and outlook.forecast is not None:
                forecast = outlook.forecast
                self._rungs[key] = forecast.rung
                self._peaks[key][forecast.made_at_s] = (
                    forecast.peak(DRAWN_WINDOW_S, DRAWN_LOW),
                    forecast.peak(DRAWN_WINDOW_S, DRAWN_HIGH),
                )

    def progress(self, at_s: float, done: float) -> Progress:
        """Return how far the run is."""
        gpus = self._world.cluster.view(self._keys).gpus
        rows = {gpu.uuid: [0] * gpu.board.grid for gpu in gpus}
        for holding in self._world.journal.holdings:
            if holding.until_s > at_s:
                for unit in holding.device.memory_slices:
                    rows[holding.device.gpu][unit] = 1 + self._keys.index(holding.workload)
        return Progress(
            policy=self._policy,
            done=done,
            at_s=at_s,
            cards_in_use=sum(any(row) for row in rows.values()),
            tenants=tuple(self._tenants()),
            layout=tuple(tuple(row) for row in rows.values()),
            step=self._steps[-1] if self._steps else None,
        )

    def _tenants(self) -> Iterator[TenantNow]:
        tick = self._last
        if tick is None or tick.fleet is None:
            return
        for key in self._keys:
            need, outlook, standing = tick.needs.get(key), tick.outlooks.get(key), tick.fleet.standing(key)
            if need is not None and outlook is not None and standing is not None:
                ready = outlook.offers.carried(standing.ready)
                yield TenantNow(key.name, need.reactive, need.forecast_up, ready, str(standing.wanted))

    def result(self, end_s: int) -> Replayed:
        """Return what came of the day."""
        world = self._world
        minutes_s = np.arange(world.start_s, end_s, MINUTE_S, dtype=np.float64)
        n = len(minutes_s)
        gpus = world.cluster.view(self._keys).gpus
        layout = layouts(world.journal, gpus, self._keys, world.start_s, end_s)
        return Replayed(
            policy=self._policy,
            summary=world.summary(end_s),
            minutes_s=minutes_s,
            cards_in_use=(layout != 0).any(axis=2).sum(axis=1),
            work={key: _minutes_of(world.truth(key), world.start_s, n) for key in self._keys},
            capacity={key: np.array(ready[:n]) for key, ready in self._capacity.items() if ready},
            peaks={key: _peaks_of(made) for key, made in self._peaks.items() if made},
            cards=len(gpus),
            board=gpus[0].board.id,
            held=tuple(_held(world, gpus, end_s)),
            steps=tuple(self._steps),
            rungs=self._rungs,
        )


def _minutes_of(truth: WorkSeries, start_s: int, n: int) -> Floats:
    first = (start_s - truth.start_s) // BUCKET_S
    return truth.work[first : first + n]


def _peaks_of(made: Mapping[float, tuple[float, float]]) -> Peaks:
    lows, highs = np.array(list(made.values())).T
    return Peaks(np.array(list(made)), DRAWN_WINDOW_S, lows, highs)


def _held(world: World, gpus: Sequence[Gpu], end_s: int) -> Iterator[Held]:
    cards = {gpu.uuid: index for index, gpu in enumerate(gpus)}
    for holding in world.journal.holdings:
        from_s, until_s = max(holding.from_s, world.start_s), min(holding.until_s, end_s)
        if from_s < until_s:
            slices = holding.device.memory_slices
            yield Held(
                workload=holding.workload,
                profile=holding.device.profile,
                card=cards[holding.device.gpu],
                first_slice=min(slices),
                slices=len(slices),
                from_s=from_s,
                until_s=until_s,
            )
