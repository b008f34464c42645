"""What the operator's rules let the loop do, and when: acting at all, how fast, and never in a freeze."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from apscheduler.triggers.cron import CronTrigger

from actuator.budgets import ChangeBudget
from actuator.crowd import STARTS_PER_NODE
from actuator.execute import MOVES_IN_FLIGHT
from actuator.pace import FallLimits
from allocator.market import Market
from foreslice.boosts import Boost
from foreslice.standby.pool import Standby


@dataclass(frozen=True, slots=True)
class Times:
    """Times that come once, or again and again.

    Attributes:
        begins: When one begins, again and again, or `None` for one that comes once.
        lasts_s: How long it lasts each time, in seconds.
        from_s: Beginning of one that comes once, seconds since the epoch.
    """

    begins: CronTrigger | None
    lasts_s: float
    from_s: float = 0.0

    def ends_s(self, at_s: float) -> float | None:
        """Return when the time ends that `at_s` is in, seconds since the epoch; `None` outside of it."""
        begun_s = self.from_s if self.begins is None else self._last_begin_s(self.begins, at_s)
        if begun_s is None or not begun_s <= at_s < begun_s + self.lasts_s:
            return None
        return begun_s + self.lasts_s

    def _last_begin_s(self, begins: CronTrigger, at_s: float) -> float | None:
        earliest = datetime.fromtimestamp(at_s, UTC) - timedelta(seconds=self.lasts_s - 1)
        first = begins.get_next_fire_time(None, earliest)
        return None if first is None else first.timestamp()


@dataclass(frozen=True, slots=True)
class Freeze:
    """A time in which nothing is moved or removed; additions go on.

    Attributes:
        because: What it is for, one line.
        times: When it is.
    """

    because: str
    times: Times


@dataclass(frozen=True, slots=True)
class TimedBudget:
    """A budget of changes and when it holds, `None` = always."""

    budget: ChangeBudget
    times: Times | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator lets the loop do.

    Attributes:
        acting: Whether anything may be written.
        limits: How fast the fleet may shrink.
        freezes: When nothing is moved or removed.
        boosts: Rises that are announced.
        market: What cards cost, and what queues may use.
        budgets: How many changes may be made, and when.
        starts_per_node: Engines that may be starting on one node at the same time.
        standby: Pool that insures workloads against bursts, `None` = there is none.
        at_once: Workloads that may be losing replicas at the same time.
        hold_s: How long room is held at most, in seconds, `None` = none is.
    """

    acting: bool
    limits: FallLimits = field(default_factory=FallLimits)
    freezes: tuple[Freeze, ...] = ()
    boosts: tuple[Boost, ...] = ()
    market: Market = field(default_factory=Market)
    budgets: tuple[TimedBudget, ...] = ()
    at_once: int = MOVES_IN_FLIGHT
    starts_per_node: int = STARTS_PER_NODE
    hold_s: float | None = None
    standby: Standby | None = None

    def frozen(self, at_s: float) -> Iterable[str]:
        """Yield why nothing is moved or removed at this time, one line each."""
        for freeze in self.freezes:
            ends_s = freeze.times.ends_s(at_s)
            if ends_s is not None:
                until = datetime.fromtimestamp(ends_s, UTC).strftime("%Y-%m-%d %H:%M UTC")
                yield f"frozen until {until}: {freeze.because}"

    def budgets_at(self, at_s: float) -> tuple[ChangeBudget, ...]:
        """Return the budgets that hold at this time."""
        held = (each for each in self.budgets if each.times is None or each.times.ends_s(at_s) is not None)
        return tuple(each.budget for each in held)
