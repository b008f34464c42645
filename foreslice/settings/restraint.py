"""How fast the fleet may shrink, and when nothing may be moved or removed."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger
from pydantic import AwareDatetime, Field, field_validator, model_validator

from actuator.budgets import ChangeBudget, Kind, Per
from actuator.execute import MOVES_IN_FLIGHT
from actuator.objects.plans import KEPT_PER_TARGET
from actuator.pace import FallLimits
from foreslice.rules import Freeze, TimedBudget, Times
from foreslice.settings.durations import Pause, Span
from foreslice.settings.group import Group


class ShrinkSettings(Group):
    """How fast the fleet may shrink; faster and unforeseen stops every removal."""

    within: Annotated[Pause, Field(description="time that the limits are reckoned over")] = 600.0
    share: Annotated[
        float, Field(ge=0.01, le=1, description="share of the cards in use that may be given up in that time")
    ] = 0.15
    workloads: Annotated[
        int,
        Field(
            ge=1,
            le=1000,
            description="if so many fall, and an hour ago nobody thought so, removals stop",
        ),
    ] = 5
    workload_share: Annotated[
        float, Field(ge=0, le=1, description="and they are more than this share of all workloads")
    ] = 0.2

    at_once: Annotated[
        int, Field(ge=1, le=1000, description="workloads that may be losing replicas at the same time")
    ] = MOVES_IN_FLIGHT

    per_node: Annotated[
        int, Field(ge=1, le=1000, description="of those, workloads that may be losing some on one node")
    ] = MOVES_IN_FLIGHT

    def limits(self) -> FallLimits:
        """Return these limits as the actuator takes them."""
        return FallLimits(self.within, self.share, self.workloads, self.workload_share, self.per_node)


class _Times(Group):
    """Times that come once, or again and again."""

    begin: Annotated[
        AwareDatetime | None,
        Field(alias="from", description="with `to`: when it begins, with an offset"),
    ] = None
    end: Annotated[AwareDatetime | None, Field(alias="to", description="when it is over")] = None
    schedule: Annotated[
        str | None,
        Field(description="with `lasts`: when it begins, five cron fields"),
    ] = None
    lasts: Annotated[Span | None, Field(description="how long it lasts each time")] = None
    timezone: Annotated[str, Field(description="time zone of the schedule")] = "UTC"

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, timezone: str) -> str:
        try:
            ZoneInfo(timezone)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("is no time zone, write e.g. Europe/Berlin") from error
        return timezone

    @field_validator("schedule")
    @classmethod
    def _is_cron(cls, schedule: str | None) -> str | None:
        if schedule is not None:
            try:
                CronTrigger.from_crontab(schedule, "UTC")
            except ValueError as error:
                raise ValueError(f"is no cron schedule of five fields: {error}") from error
        return schedule

    @model_validator(mode="after")
    def _one_form(self) -> _Times:
        once, again = (self.begin, self.end), (self.schedule, self.lasts)
        if (None in once) == (None in again) or (any(once) and any(again)):
            raise ValueError("name either from and to, or schedule and lasts")
        if self.begin is not None and self.end is not None and self.begin >= self.end:
            raise ValueError("from must be before to")
        return self

    def times(self) -> Times:
        """Return these times as the loop takes them."""
        if self.schedule is not None and self.lasts is not None:
            return Times(CronTrigger.from_crontab(self.schedule, self.timezone), self.lasts)
        begin_s, end_s = (_seconds(moment) for moment in (self.begin, self.end))
        return Times(None, end_s - begin_s, begin_s)


class FreezeSettings(_Times):
    """A time in which nothing is moved or removed: once, or on a schedule."""

    because: Annotated[str, Field(min_length=1, max_length=200, description="what it is for")]

    def freeze(self) -> Freeze:
        """Return this freeze as the loop takes it."""
        return Freeze(self.because, self.times())


class BudgetTimes(_Times):
    """When a budget holds: once, or on a schedule."""


class BudgetSettings(Group):
    """How many changes that give replicas up may be made within a time."""

    most: Annotated[int, Field(ge=0, le=1000, description="so many changes")]
    within: Annotated[Span, Field(description="in this time")] = 86400.0
    per: Annotated[Per, Field(description="counted for each workload, or for all of them together")] = (
        Per.WORKLOAD
    )
    kinds: Annotated[
        tuple[Literal["remove", "reshape"], ...],
        Field(min_length=1, description="remove = fewer replicas; reshape = others take over"),
    ] = ("remove", "reshape")
    because: Annotated[str | None, Field(max_length=200, description="what it is for")] = None
    when: Annotated[BudgetTimes | None, Field(description="when it holds; default: always")] = None

    @model_validator(mode="after")
    def _is_kept(self) -> BudgetSettings:
        if self.per is Per.WORKLOAD and self.most > KEPT_PER_TARGET:
            raise ValueError(
                f"most must be {KEPT_PER_TARGET} or less: so many changes of a workload are kept"
            )
        return self

    def budget(self) -> TimedBudget:
        """Return this budget as the loop takes it."""
        kinds = frozenset(map(Kind, self.kinds))
        budget = ChangeBudget(self.most, self.within, self.per, kinds, self.because or "")
        return TimedBudget(budget, self.when.times() if self.when is not None else None)


def _seconds(moment: datetime | None) -> float:
    if moment is None:
        raise AssertionError("times without a schedule begin and end")
    return moment.timestamp()
