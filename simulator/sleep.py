"""Engines that share a device and sleep on it: what that takes of memory and time, and how it goes wrong.

Stands in for the HTTP endpoints of engines with sleep mode (`actuator.standby.ports.Doors`): a call asks and
returns, and what has come of it is seen in the engine's state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import partial
from hashlib import blake2b
from math import inf

from capacity.catalogue import MODELS, ModelSpec
from capacity.prior import MEMORY_UTILISATION
from fleet.boards import Board
from fleet.ledgers.beds import CONTEXT_GIB, Bed, share_for_one_awake
from fleet.shape import Shape, slice_of
from fleet.standby import EngineState, Sleeper
from fleet.workload import Workload
from predictor.ports import PodMemory, PodName
from simulator.clock import Clock
from simulator.delays import LogNormal

SPREAD = 0.25
"""Of the logarithm of a wake's time: between models of one size readings differ by about so much."""

GIB_PER_S, LEAST_S = 20.0, 0.2
"""Level 1 on one card wakes within 0.10 to 0.28 s (0.6B), .80 to .83 s (4B), 2.85 to 2.89 s (30B), and sleeps
as fast (data of the vLLM blog, 2025-10-26): a fifth of a second, and 20 GiB of weights in each second."""

_GIB = 1 << 30

NOBODY = 0.5
"""Requests below which an engine shows 0: what is left is an artefact of the fluid."""


class Stage(Enum):
    """Where an engine is; only asleep it has given the device's memory back."""

    LOADING = auto()
    AWAKE = auto()
    FALLING_ASLEEP = auto()
    ASLEEP = auto()
    WAKING = auto()


@dataclass(frozen=True, slots=True)
class Naps:
    """How long waking and sleeping take, and how often they never end; the same pod's nth call waits alike.

    Attributes:
        seed: Chance of the run.
        slower: Factor on all times.
        stuck_wake: Share of the wakes that never end.
        stuck_sleep: Share of the sleeps that never end.
    """

    seed: int
    slower: float = 1.0
    stuck_wake: float = 0.0
    stuck_sleep: float = 0.0

    def wake_s(self, pod: str, nth: int, weights_gib: float) -> float:
        """Return seconds until a woken engine may serve, infinite if it never will."""
        return self._takes_s(f"wake/{pod}/{nth}", weights_gib, self.stuck_wake)

    def sleep_s(self, pod: str, nth: int, weights_gib: float) -> float:
        """Return seconds until an engine sleeps, infinite if it never will."""
        return self._takes_s(f"sleep/{pod}/{nth}", weights_gib, self.stuck_sleep)

    def _takes_s(self, named: str, weights_gib: float, stuck: float) -> float:
        if self._chance(f"stuck/{named}") < stuck:
            return inf
        usual = LogNormal(LEAST_S + weights_gib / GIB_PER_S, SPREAD)
        return self.slower * usual.at(self._chance(named))

    def _chance(self, named: str) -> float:
        drawn = int.from_bytes(blake2b(f"{self.seed}/{named}".encode(), digest_size=6).digest())
        return (drawn + 0.5) / (1 << 48)


@dataclass(slots=True)
class _Engine:
    claim: str
    node: str
    bed: Bed
    stage: Stage = Stage.LOADING
    calls: int = 0
    is_copied: bool = False


@dataclass(frozen=True, slots=True)
class Beds:
    """What engines of a world take.

    Attributes:
        boards: Kinds of cards, by id.
        models: Models by what workloads call them.
        sleepers: Engines that share a slice: the one awake leaves their contexts room.
        process_gib: Host memory of an engine beside its weights.
        context_gib: Device memory of a sleeping engine.
    """

    boards: Mapping[str, Board]
    models: Mapping[str, ModelSpec] = field(default_factory=lambda: MODELS)
    sleepers: int = 1
    process_gib: float = 0.0
    context_gib: float = CONTEXT_GIB

    def of(self, workload: Workload, shape: Shape) -> Bed:
        """Return what an engine of a workload takes on a slice."""
        share = min(MEMORY_UTILISATION, share_for_one_awake(self.memory_gib(shape), self.sleepers))
        weights_gib = self.models[workload.model].weight_bytes / _GIB
        return Bed(share * self.memory_gib(shape), weights_gib + self.process_gib, self.context_gib)

    def memory_gib(self, shape: Shape) -> float:
        """Return the memory of a slice."""
        return slice_of(self.boards[shape.board], shape).memory_gib


class SleepMode:
    """The engines that share devices, by pod.

    Args:
        clock: Time.
        naps: How long things take.
        host_gib: Memory that a node has for sleeping weights.
        on_turn: Told of a pod whose engine begins to sleep, or is awake again.
        in_service: Given a pod, the requests that its engine has.

    Attributes:
        collisions: Claims on which two engines wanted the device's memory at once, and when.
        failures: What engines refused, one line each.
    """

    def __init__(
        self,
        clock: Clock,
        naps: Naps,
        host_gib: float = inf,
        on_turn: Callable[[str, EngineState], None] = lambda _pod, _state: None,
        in_service: Callable[[str], float] = lambda _pod: 0.0,
    ) -> None:
        self._clock = clock
        self._naps = naps
        self._host_gib = host_gib
        self._on_turn = on_turn
        self._in_service = in_service
        self._engines: dict[str, _Engine] = {}
        self._room_gib: dict[str, float] = {}
        self.collisions: list[tuple[float, str]] = []
        self.failures: list[str] = []

    def load(self, pod: str, claim: str, node: str, bed: Bed, memory_gib: float) -> None:
        """Let an engine begin to load on the device of a claim."""
        self._room_gib[claim] = memory_gib
        self._engines[pod] = _Engine(claim, node, bed)
        self._check(claim)

    def loaded(self, pod: str) -> None:
        """Let an engine be awake for the first time."""
        self._engines[pod].stage = Stage.AWAKE

    def gone(self, pod: str) -> None:
        """Forget an engine whose pod has ended."""
        del self._engines[pod]

    def stage(self, pod: str) -> Stage | None:
        """Return where an engine is, `None` if there is none."""
        engine = self._engines.get(pod)
        return engine.stage if engine is not None else None

    def device_gib(self, claim: str) -> float:
        """Return the device memory that the engines on a claim take now."""
        on_it = [engine for engine in self._engines.values() if engine.claim == claim]
        return sum(e.bed.context_gib if e.stage is Stage.ASLEEP else e.bed.awake_gib for e in on_it)

    def host_gib(self, node: str) -> float:
        """Return the memory of a node that copies of weights take now."""
        return sum(e.bed.host_gib for e in self._engines.values() if e.node == node and e.is_copied)

    def memory(self, pods: Sequence[PodName], at_s: float) -> Mapping[PodName, PodMemory]:  # noqa: ARG002 -- the port's; simulated memory is of now
        """Return what metrics say of pods, see `predictor.ports.MemorySource`."""
        found = {}
        for pod in pods:
            engine = self._engines.get(pod[1])
            if engine is not None:
                host_gib = engine.bed.host_gib if engine.is_copied else 0.0
                found[pod] = PodMemory(host_gib * _GIB, self.device_gib(engine.claim) * _GIB)
        return found

    # What the endpoints do.

    def state(self, sleeper: Sleeper) -> EngineState:
        """Return what an engine says of itself; while it is turning it does not answer."""
        match self.stage(sleeper.pod):
            case Stage.ASLEEP:
                return EngineState.ASLEEP
            case Stage.AWAKE:
                return EngineState.AWAKE
            case _:
                return EngineState.SILENT

    def is_idle(self, sleeper: Sleeper) -> bool:
        """Return whether an engine says that it has nothing in service; silence is no."""
        return self.stage(sleeper.pod) is Stage.AWAKE and self._in_service(sleeper.pod) < NOBODY

    def sleep(self, sleeper: Sleeper) -> None:
        """Ask an engine to sleep; one that cannot stays awake."""
        pod, engine = sleeper.pod, self._engines.get(sleeper.pod)
        if engine is None or engine.stage is not Stage.AWAKE:
            return
        if not engine.is_copied and self.host_gib(engine.node) + engine.bed.host_gib > self._host_gib:
            self.failures.append(f"{pod}: no host memory for its weights")
            return
        engine.is_copied = True
        self._on_turn(pod, EngineState.ASLEEP)
        self._turn(pod, Stage.FALLING_ASLEEP, Stage.ASLEEP, self._naps.sleep_s)

    def wake(self, sleeper: Sleeper) -> None:
        """Ask an engine to wake; one that finds no memory goes on sleeping."""
        pod, engine = sleeper.pod, self._engines.get(sleeper.pod)
        if engine is None or engine.stage is not Stage.ASLEEP:
            return
        taken_gib = self.device_gib(engine.claim) - engine.bed.context_gib + engine.bed.awake_gib
        if taken_gib > self._room_gib[engine.claim]:
            self.collisions.append((self._clock.now_s, engine.claim))
            self.failures.append(f"{pod}: out of memory")
            return
        self._turn(pod, Stage.WAKING, Stage.AWAKE, self._naps.wake_s)

    def _turn(self, pod: str, through: Stage, to: Stage, takes_s: Callable[[str, int, float], float]) -> None:
        engine = self._engines[pod]
        engine.calls += 1
        engine.stage = through
        duration_s = takes_s(pod, engine.calls, engine.bed.host_gib)
        if duration_s < inf:
            self._clock.after(duration_s, partial(self._arrive, pod, engine, to))

    def _arrive(self, pod: str, engine: _Engine, to: Stage) -> None:
        if self._engines.get(pod) is not engine:
            return
        engine.stage = to
        if to is Stage.AWAKE:
            self._on_turn(pod, EngineState.AWAKE)

    def _check(self, claim: str) -> None:
        if self.device_gib(claim) > self._room_gib[claim]:
            self.collisions.append((self._clock.now_s, claim))
