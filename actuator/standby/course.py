"""What is done next on one slice of the pool, read off what stands; nothing else need be remembered.

A slice is held before its memory changes hands, and given back when the engine that had it sleeps. Whoever
takes over in the middle, after whichever write or call, goes on from what is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from fleet.standby import Doing, EngineState, Hold, PoolSlice, Sleeper
from fleet.workload import WorkloadKey


class Verb(StrEnum):
    """What is written, or asked of an engine."""

    HOLD = "hold"
    RELEASE = "release"
    BAR = "bar"
    BOARD = "board"
    REMOVE = "remove"
    OPEN = "open"
    CLOSE = "close"
    WAKE = "wake"
    SLEEP = "sleep"


@dataclass(frozen=True, slots=True)
class Act:
    """One write or call.

    Attributes:
        verb: What is done.
        workload: Whose engine it is about.
        doing: What the slice is held for from now on, for `HOLD`.
        because: Why, in few words.
    """

    verb: Verb
    workload: WorkloadKey
    doing: Doing | None = None
    because: str = ""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How long things may take, seconds.

    Attributes:
        wake_s: A wake that takes longer is stuck.
        load_s: Likewise a pod's first load.
        drain_s: Longest that requests are waited for before an engine is put to sleep.
        settle_s: Until routers have forgotten a pod whose gate was closed, and no call that was made before a
            slice changed hands can still arrive: calls are given up sooner.
        awake_s: Least time that an engine stays awake.
        barred_s: How long an engine that stuck is left alone.
    """

    wake_s: float = 60.0
    load_s: float = 900.0
    drain_s: float = 120.0
    settle_s: float = 10.0
    awake_s: float = 60.0
    barred_s: float = 1800.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What engines say, and what is wanted of a slice.

    Attributes:
        states: What each engine that is up says of itself; one that is missing is silent.
        idle: Workloads whose engine says that it has nothing in service.
        wish: Who should be awake, `None` = nobody.
        members: Who should sleep here.
        at_s: Time, seconds since the epoch.
    """

    states: Mapping[WorkloadKey, EngineState]
    idle: frozenset[WorkloadKey]
    wish: WorkloadKey | None
    members: frozenset[WorkloadKey]
    at_s: float

    def is_asleep(self, sleeper: Sleeper) -> bool:
        """Return whether an engine says that it sleeps."""
        return sleeper.is_up and self.states.get(sleeper.workload) is EngineState.ASLEEP


def next_act(pool: PoolSlice, seen: Seen, rhythm: Rhythm) -> Act | None:
    """Return what is done next on a slice, `None` = nothing, or wait."""
    hold = pool.hold
    for sleeper in pool.sleepers:
        is_served = (
            hold is not None and hold.workload == sleeper.workload and hold.doing is Doing.SERVING
        ) and not (sleeper.is_up and seen.states.get(sleeper.workload) is EngineState.ASLEEP)
        if sleeper.is_open and not is_served:
            return Act(Verb.CLOSE, sleeper.workload, because="it does not serve")
    if hold is None:
        return _free(pool, seen)
    held = pool.sleeper(hold.workload)
    if held is not None and held.is_leaving:
        return None
    match hold.doing:
        case Doing.LOADING:
            return _loading(pool, hold, held, seen, rhythm)
        case Doing.SERVING:
            return _serving(pool, hold, held, seen, rhythm)
        case Doing.LEAVING:
            return _leaving(pool, hold, held, seen, rhythm)


def _free(pool: PoolSlice, seen: Seen) -> Act | None:
    """All should sleep: who does not is put to sleep, else somebody is let in, or woken."""
    if any(sleeper.is_leaving for sleeper in pool.sleepers):
        return None
    for sleeper in pool.sleepers:
        if not sleeper.is_up:
            return Act(Verb.HOLD, sleeper.workload, Doing.LOADING, "it is loading")
        if not seen.is_asleep(sleeper):
            return Act(Verb.HOLD, sleeper.workload, Doing.LEAVING, "it does not sleep")
    if (
        seen.wish is not None
        and pool.sleeper(seen.wish) is not None
        and not pool.is_barred(seen.wish, seen.at_s)
    ):
        return Act(Verb.HOLD, seen.wish, Doing.SERVING, "it is needed")
    for sleeper in pool.sleepers:
        if sleeper.workload not in seen.members:
            return Act(Verb.HOLD, sleeper.workload, Doing.LEAVING, "it sleeps elsewhere now")
    new = sorted(
        key for key in seen.members if pool.sleeper(key) is None and not pool.is_barred(key, seen.at_s)
    )
    return Act(Verb.HOLD, new[0], Doing.LOADING, "it sleeps here from now on") if new else None


def _loading(pool: PoolSlice, hold: Hold, held: Sleeper | None, seen: Seen, rhythm: Rhythm) -> Act | None:
    if held is None:
        is_wanted = hold.workload in seen.members and not pool.is_barred(hold.workload, seen.at_s)
        return Act(Verb.BOARD if is_wanted else Verb.RELEASE, hold.workload)
    if seen.is_asleep(held):
        return Act(Verb.RELEASE, hold.workload)
    if seen.at_s - hold.since_s > rhythm.load_s:
        return _give_up(pool, hold.workload, seen, "it did not load")
    if held.is_up and seen.states.get(hold.workload) is EngineState.AWAKE:
        return Act(Verb.SLEEP, hold.workload)
    return None


def _serving(pool: PoolSlice, hold: Hold, held: Sleeper | None, seen: Seen, rhythm: Rhythm) -> Act | None:
    workload = hold.workload
    if held is None:
        return Act(Verb.RELEASE, workload)
    if not held.is_up:
        return Act(Verb.HOLD, workload, Doing.LOADING, "its container started anew")
    if seen.wish != workload and (not held.is_open or seen.at_s - hold.since_s >= rhythm.awake_s):
        return Act(Verb.HOLD, workload, Doing.LEAVING, "it is needed no more")
    return None if held.is_open else _waking(pool, hold, seen, rhythm)


def _waking(pool: PoolSlice, hold: Hold, seen: Seen, rhythm: Rhythm) -> Act | None:
    """The slice is held for an engine that is to serve: it is woken once all others sleep for certain."""
    workload = hold.workload
    if not all(seen.is_asleep(other) for other in pool.sleepers if other.workload != workload):
        return Act(Verb.HOLD, workload, Doing.LEAVING, "another does not sleep")
    if seen.at_s - hold.since_s > rhythm.wake_s:
        if not pool.is_barred(workload, seen.at_s):
            return Act(Verb.BAR, workload, because="it did not wake")
        return Act(Verb.HOLD, workload, Doing.LEAVING, "it did not wake")
    match seen.states.get(workload):
        case EngineState.AWAKE:
            return Act(Verb.OPEN, workload)
        case EngineState.ASLEEP:
            return Act(Verb.WAKE, workload)
        case _:
            return None


def _leaving(pool: PoolSlice, hold: Hold, held: Sleeper | None, seen: Seen, rhythm: Rhythm) -> Act | None:
    workload, lasted_s = hold.workload, seen.at_s - hold.since_s
    if held is None:
        return Act(Verb.RELEASE, workload)
    closed_s = seen.at_s - max(hold.since_s, held.turned_s)
    if seen.is_asleep(held):
        if lasted_s < rhythm.settle_s:
            return None
        return Act(Verb.RELEASE if workload in seen.members else Verb.REMOVE, workload)
    if lasted_s > rhythm.drain_s + rhythm.wake_s:
        return _give_up(pool, workload, seen, "it did not sleep")
    is_drained = workload in seen.idle or closed_s > rhythm.drain_s
    if seen.states.get(workload) is EngineState.AWAKE and closed_s >= rhythm.settle_s and is_drained:
        return Act(Verb.SLEEP, workload)
    return None


def _give_up(pool: PoolSlice, workload: WorkloadKey, seen: Seen, because: str) -> Act:
    """An engine that stuck is barred, and then its pod ends, which gives the memory back."""
    return Act(Verb.REMOVE if pool.is_barred(workload, seen.at_s) else Verb.BAR, workload, because=because)
