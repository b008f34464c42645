"""Days through the service's own loop on a simulated fleet, under a virtual clock.

The three jobs run inline, in a fixed order, at their virtual times; what `forecast` and `plan` work
out is used from the next tick on, which stands for the time that they take.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.workload import Mode, Workload
from foreslice.clock import BUCKET_LAG_S, STANDBY_S
from foreslice.compose import LAST_DAY, Surroundings, ladders_of, make_loop
from foreslice.notches import Learnt
from foreslice.replayed import Policy, Progress, Recorder, Replayed
from foreslice.rules import Rules
from foreslice.settings.learning import SharedModelSettings
from foreslice.settings.standby import StandbySettings
from foreslice.shelf import shelf_of
from foreslice.standby.made import simulated, standby_of
from foreslice.tick import Loop
from foreslice.training import here
from predictor.forecasters.hold import Hold
from predictor.ports import BUCKET_S, Forecaster
from simulator.rivals.oracle import OraclePeaks
from simulator.tenants import shipped_tenants
from simulator.traffic import DAY_S
from simulator.world import World, WorldSpec

AIM_EVERY_S = 300
"""How often a replay works out where the whole fleet should be, virtual seconds."""

PROGRESS_EVERY_S = 600
"""How often a replay says how far it is, virtual seconds."""


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
        standby: The standby pool of policies that have one, `None` = there are none.
    """

    seed: int
    spec: Callable[[], WorldSpec]
    length_s: int = DAY_S
    timing: Timing = field(default_factory=Timing)
    traffic: str = "real request rates of ten-minute steps, who sent how much when"
    standby: StandbySettings | None = None

    @property
    def policies(self) -> tuple[Policy, ...]:
        """Who may decide."""
        return tuple(policy for policy in Policy if self.standby is not None or not policy.has_pool)


def shipped_day(seed: int, length_s: int = DAY_S) -> Day:
    """Return the last day of the shipped traffic, its tenants' sizes drawn by seed."""
    return Day(seed, partial(_shipped, seed), length_s)


def _shipped(seed: int) -> WorldSpec:
    return WorldSpec(shipped_tenants(CapacityModel([H100_80GB]), seed), LAST_DAY)


def replay(policy: Policy, day: Day, on_progress: Callable[[Progress], None] = lambda _: None) -> Replayed:
    """Return what comes of a day under a policy. The same arguments give the same result, to the byte."""
    world = World(day.spec(), day.seed)
    workloads = tuple(replace(tenant.workload, mode=Mode.FULL) for tenant in world.spec.tenants)
    recorder = Recorder(policy, world, workloads)
    loop = None if policy is Policy.STATIC else _loop(policy, world, workloads, day)
    end_s, tick_s = world.start_s + day.length_s, round(day.timing.tick_s)
    for at_s in range(world.start_s, end_s + 1, STANDBY_S if policy.has_pool else tick_s):
        world.advance_to(at_s)
        if loop is not None:
            if (at_s - world.start_s) % tick_s == 0:
                recorder.note(loop.tick())
            if at_s % BUCKET_S == BUCKET_LAG_S or at_s == world.start_s:
                loop.forecast()
                loop.plan()
            if at_s % AIM_EVERY_S == BUCKET_LAG_S:
                loop.aim()
            recorder.turned(loop.standby())
        if at_s % PROGRESS_EVERY_S == 0:
            on_progress(recorder.progress(at_s, (at_s - world.start_s) / day.length_s))
    return recorder.result(end_s)


def _loop(policy: Policy, world: World, workloads: tuple[Workload, ...], day: Day) -> Loop:
    around = inside(world)
    learnt = Learnt(around.shelf)
    ladders = ladders_of(around, here(around.recipe, learnt.shelf.now), day.timing, learnt)

    def forecaster(workload: Workload) -> Forecaster:
        match policy.alone:
            case Policy.FORECAST_OFF:
                return Hold(workload.key)
            case Policy.ORACLE:
                return OraclePeaks(world.truth(workload.key))
            case _:
                return ladders(workload)

    rules = Rules(acting=True)
    if day.standby is not None and policy.has_pool:
        kinds = around.boards, workloads, around.models
        rules = replace(
            rules, standby=standby_of(day.standby.terms(), day.standby.engine, simulated(world), *kinds)
        )
    history_s = world.spec.start_day * DAY_S
    return make_loop(workloads, around, day.timing, forecaster, history_s, rules, learnt)


def inside(world: World) -> Surroundings:
    """Return a simulated world as surroundings in whose time the loop lives; whoever ticks moves it on."""
    return Surroundings(
        clock=_WorldClock(world),
        metrics=world.metrics,
        cluster=world.cluster,
        boards=(world.spec.board,),
        before_tick=lambda: None,
        alone=nullcontext(),
        models=world.spec.models,
        shelf=shelf_of(SharedModelSettings(), Path()),
    )


class _WorldClock:
    def __init__(self, world: World) -> None:
        self._world = world

    def now_s(self) -> float:
        return self._world.clock.now_s
