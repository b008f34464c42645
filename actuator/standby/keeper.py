"""Keeps the pool as it should be: one turn brings every slice as far as it can be brought now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from actuator.standby.course import Act, Rhythm, Seen, Verb, next_act
from actuator.standby.ports import Doors, Dormitory
from fleet.errors import ConflictError, ForesliceError
from fleet.standby import Doing, Hold, PoolSlice
from fleet.workload import WorkloadKey

ACTS_AT_ONCE = 4
"""Writes to one slice in a turn at most: a wake takes two, the call and then the gate."""

TAKES_TIME = frozenset({Verb.WAKE, Verb.SLEEP, Verb.BOARD, Verb.REMOVE})
"""What has come of these is seen in a later turn."""

LOOKS_EVERY_S = 30.0
"""How often engines of a slice that nobody holds or needs are asked whether they still sleep."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of one slice.

    Attributes:
        members: Who should sleep there.
        wish: Who of them should be awake, `None` = nobody.
    """

    members: frozenset[WorkloadKey] = frozenset()
    wish: WorkloadKey | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one act.

    Attributes:
        slice: Slice that it was about.
        act: What was done.
        problem: Why it failed, empty = it was done.
        held_s: Seconds for which the slice had been held as it was, 0 = it was nobody's.
    """

    slice: str
    act: Act
    problem: str = ""
    held_s: float = 0.0

    def __str__(self) -> str:
        held = f" ({self.act.doing.value})" if self.act.doing is not None else ""
        because = self.problem or self.act.because
        return f"{self.slice}: {self.act.verb} {self.act.workload}{held}{': ' if because else ''}{because}"


@dataclass(slots=True)
class Keeper:
    """Turns the slices of a pool.

    Attributes:
        dormitory: Its objects.
        doors: Its engines.
        rhythm: How long things may take.
    """

    dormitory: Dormitory
    doors: Doors
    rhythm: Rhythm = field(default_factory=Rhythm)
    _looked_s: dict[str, float] = field(default_factory=dict)

    def turn(self, pools: Sequence[PoolSlice], wanted: Mapping[str, Wanted], at_s: float) -> Iterator[Done]:
        """Bring each slice as far as it can be brought now, and yield what was done.

        Args:
            pools: Slices of one namespace, as just read.
            wanted: What is wanted, by slice; one that is not named keeps nobody and goes once it is empty.
            at_s: Time, seconds since the epoch.
        """
        for pool in pools:
            yield from self._turn(pool, wanted.get(pool.name), at_s)

    def _turn(self, pool: PoolSlice, wanted: Wanted | None, at_s: float) -> Iterator[Done]:
        if wanted is None and not pool.sleepers and pool.hold is None:
            with suppress(ConflictError):
                self.dormitory.drop(pool)
            return
        if pool.trouble or self._may_rest(pool, wanted or Wanted(), at_s):
            return
        self._looked_s[pool.name] = at_s
        left: PoolSlice | None = pool
        for _ in range(ACTS_AT_ONCE):
            act = next_act(left, self._seen(left, wanted or Wanted(), at_s), self.rhythm) if left else None
            if left is None or act is None:
                return
            try:
                self._do(left, act, at_s)
            except ForesliceError as error:
                yield Done(pool.name, act, str(error))
                return
            yield Done(pool.name, act, held_s=at_s - left.hold.since_s if left.hold is not None else 0.0)
            if act.verb in TAKES_TIME:
                return
            left = next((one for one in self.dormitory.slices(pool.namespace) if one.name == pool.name), None)

    def _may_rest(self, pool: PoolSlice, wanted: Wanted, at_s: float) -> bool:
        here = {sleeper.workload for sleeper in pool.sleepers if sleeper.is_up and not sleeper.is_open}
        is_settled = pool.hold is None and wanted.wish is None and here == wanted.members
        looked_s = self._looked_s.get(pool.name, float("-inf"))
        return is_settled and at_s - looked_s < LOOKS_EVERY_S

    def _seen(self, pool: PoolSlice, wanted: Wanted, at_s: float) -> Seen:
        up = [sleeper for sleeper in pool.sleepers if sleeper.is_up and not sleeper.is_leaving]
        hold = pool.hold
        leaves = hold.workload if hold is not None and hold.doing is Doing.LEAVING else None
        return Seen(
            states={sleeper.workload: self.doors.state(sleeper) for sleeper in up},
            idle=frozenset(s.workload for s in up if s.workload == leaves and self.doors.is_idle(s)),
            wish=wanted.wish,
            members=wanted.members,
            at_s=at_s,
        )

    def _do(self, pool: PoolSlice, act: Act, at_s: float) -> None:
        sleeper = pool.sleeper(act.workload)
        match act.verb, sleeper:
            case Verb.HOLD, _ if act.doing is not None:
                self.dormitory.hold(pool, Hold(act.workload, act.doing, at_s), pool.still_barred(at_s))
            case Verb.RELEASE, _:
                self.dormitory.hold(pool, None, pool.still_barred(at_s))
            case Verb.BAR, _:
                until_s = at_s + self.rhythm.barred_s
                self.dormitory.hold(pool, pool.hold, {**pool.still_barred(at_s), act.workload: until_s})
            case Verb.BOARD, _:
                self.dormitory.board(pool, act.workload)
            case Verb.REMOVE, sleeper if sleeper is not None:
                self.dormitory.remove(pool, sleeper)
            case Verb.OPEN | Verb.CLOSE as verb, sleeper if sleeper is not None:
                self.dormitory.turn(pool, sleeper, is_open=verb is Verb.OPEN, at_s=at_s)
            case Verb.WAKE, sleeper if sleeper is not None:
                self.doors.wake(sleeper)
            case Verb.SLEEP, sleeper if sleeper is not None:
                self.doors.sleep(sleeper)
