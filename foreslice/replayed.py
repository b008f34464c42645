"""What comes of a replay, and how far it is: everything that tables and pictures of a day need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from actuator.outcome import Outcome
from actuator.standby.keeper import Done
from fleet.change import Verb
from fleet.cluster import Gpu
from fleet.workload import Workload, WorkloadKey
from foreslice.standby.diary import Diary, PoolDay
from foreslice.tick import Tick
from predictor.ports import BUCKET_S, Floats, WorkSeries
from simulator.account import Summary, layouts, numbers_of
from simulator.detail import Detail
from simulator.traffic import MINUTE_S
from simulator.world import World

DRAWN_WINDOW_S = 300
"""Window whose forecast peaks are kept for pictures."""

DRAWN_LOW, DRAWN_HIGH = 0.90, 0.99
"""Quantiles between which pictures show the forecast."""


class Policy(StrEnum):
    """Who decides in a replay."""

    FORESLICE = "foreslice"
    FORECAST_OFF = "forecast off"
    STATIC = "static whole GPU"
    ORACLE = "oracle"
    FORECAST_POOL = "forecast+pool"
    RULE_POOL = "rule+pool"

    @property
    def alone(self) -> Policy:
        """The same without a standby pool."""
        return _ALONE.get(self, self)

    @property
    def has_pool(self) -> bool:
        """Whether a standby pool insures it."""
        return self in _ALONE


_ALONE = {Policy.FORECAST_POOL: Policy.FORESLICE, Policy.RULE_POOL: Policy.FORECAST_OFF}


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
        workload: Whose, `None` = the standby pool's.
        profile: MIG profile, `None` for a whole card.
        card: Which card, counted in published order.
        first_slice: Lowest memory slice held.
        slices: Number of memory slices held.
        from_s: Since when, seconds since the epoch, not before the day.
        until_s: Until when, not after the day.
    """

    workload: WorkloadKey | None
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
        becauses: Why it was that one, in words, where somebody judged.
        detail: More figures.
        pool: What came of its standby pool, `None` without one.
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
    becauses: Mapping[WorkloadKey, str]
    detail: Detail
    pool: PoolDay | None = None


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
        layout: By card and memory slice, who holds it, as `simulator.account.numbers_of` numbers them.
        step: The last step that was written, with its reason.
    """

    policy: Policy
    done: float
    at_s: float
    cards_in_use: int
    tenants: tuple[TenantNow, ...]
    layout: tuple[tuple[int, ...], ...]
    step: StepTaken | None


class Recorder:
    """Keeps what a picture of the day needs."""

    def __init__(self, policy: Policy, world: World, workloads: tuple[Workload, ...]) -> None:
        self._policy = policy
        self._world = world
        self._keys = [workload.key for workload in workloads]
        self._capacity: dict[WorkloadKey, list[float]] = {key: [] for key in self._keys}
        self._peaks: dict[WorkloadKey, dict[float, tuple[float, float]]] = {key: {} for key in self._keys}
        self._rungs: dict[WorkloadKey, str] = {}
        self._becauses: dict[WorkloadKey, str] = {}
        self._steps: list[StepTaken] = []
        self._last: Tick | None = None
        self._diary = Diary()

    def note(self, tick: Tick) -> None:
        """Take in one tick."""
        self._last = tick
        if tick.pool is not None:
            self._diary.look(tick.pool, tick.at_s)
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
                if forecast.worth is not None:
                    self._becauses[key] = forecast.worth.because
                self._peaks[key][forecast.made_at_s] = (
                    forecast.peak(DRAWN_WINDOW_S, DRAWN_LOW),
                    forecast.peak(DRAWN_WINDOW_S, DRAWN_HIGH),
                )

    def turned(self, done: Iterable[Done]) -> None:
        """Take in what a turn of the standby pool did."""
        self._diary.note(done)

    def progress(self, at_s: float, done: float) -> Progress:
        """Return how far the run is."""
        gpus = self._world.cluster.view(self._keys).gpus
        rows = {gpu.uuid: [0] * gpu.board.grid for gpu in gpus}
        numbers = numbers_of(self._keys)
        for holding in self._world.journal.holdings:
            if holding.until_s > at_s:
                for unit in holding.device.memory_slices:
                    rows[holding.device.gpu][unit] = numbers[holding.workload]
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
            becauses=self._becauses,
            detail=world.detail(end_s),
            pool=self._diary.day(world, self._keys, end_s) if self._policy.has_pool else None,
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
