"""The calendar that a workload's users live by, as settings and recipes say it."""

from __future__ import annotations

from typing import Annotated
from zoneinfo import ZoneInfo

import holidays
from pydantic import AwareDatetime, Field, field_validator, model_validator

from foreslice.settings.group import Group
from predictor.calendar import Calendar, Event


class EventSettings(Group):
    """A stretch of time that is not like others: a launch, a campaign, a deploy, past or announced."""

    kind: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
            max_length=63,
            description="what events have in common: models learn what a kind did before",
        ),
    ]
    begin: Annotated[AwareDatetime, Field(alias="from", description="when it begins, with an offset")]
    end: Annotated[AwareDatetime, Field(alias="to", description="when it is over")]

    @model_validator(mode="after")
    def _lasts(self) -> EventSettings:
        if not self.begin < self.end:
            raise ValueError("from must be before to")
        return self


class CalendarSettings(Group):
    """The calendar that users live by."""

    zone: Annotated[str, Field(description="time zone, IANA name")] = "UTC"
    country: Annotated[
        str | None, Field(description="country whose holidays count, ISO 3166; default: none do")
    ] = None
    events: Annotated[
        tuple[EventSettings, ...], Field(max_length=1000, description="what was and what is announced")
    ] = ()

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, zone: str) -> str:
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError("is no time zone, write e.g. Europe/Berlin") from error
        return zone

    @field_validator("country")
    @classmethod
    def _known_country(cls, country: str | None) -> str | None:
        if country and country not in holidays.list_supported_countries():
            raise ValueError("is no country whose holidays are known, write e.g. DE")
        return country

    def calendar(self) -> Calendar:
        """Return it as forecasts take it."""
        events = (Event(one.kind, one.begin.timestamp(), one.end.timestamp()) for one in self.events)
        return Calendar(self.zone, self.country or "", tuple(events))
