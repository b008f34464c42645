"""What the calendar says of a moment: in the workload's own time zone, with its own holidays and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

import holidays
import numpy as np
import pandas as pd

from fleet.errors import InputError
from predictor.ports import Floats


@dataclass(frozen=True, slots=True)
class Event:
    """A stretch of time that was announced: a launch, a campaign, a deploy.

    Attributes:
        kind: What events have in common; each kind is a flag of its own.
        from_s: Start, seconds since the epoch.
        until_s: End.
    """

    kind: str
    from_s: float
    until_s: float


@dataclass(frozen=True, slots=True)
class Calendar:
    """The calendar that a workload's users live by.

    Attributes:
        zone: IANA name of their time zone.
        country: ISO 3166 code of the country whose public holidays count, empty = none do.
        events: What was announced, past and to come.
    """

    zone: str = "UTC"
    country: str = ""
    events: tuple[Event, ...] = field(default=())

    def columns(self, ends_s: Floats, ahead_s: float) -> Iterator[tuple[str, Floats]]:
        """Yield named features of the window of `ahead_s` seconds after each of the moments `ends_s`.

        Clock time is local: the hour that a change of the clock repeats has the same time of day twice.

        Raises `InputError` if the time zone or the country is not known.
        """
        clock = _clock(self.zone, (ends_s + ahead_s / 2).tobytes())
        yield "time of day, sine", clock.sine
        yield "time of day, cosine", clock.cosine
        yield WEEKDAY, clock.weekday
        if self.country:
            yield "holiday", _is_holiday(self.country, clock.local)
        for kind in sorted({event.kind for event in self.events}):
            yield f"event: {kind}", self._is_on(kind, ends_s, ahead_s)

    def _is_on(self, kind: str, ends_s: Floats, ahead_s: float) -> Floats:
        is_on = np.zeros(len(ends_s))
        for event in self.events:
            if event.kind == kind:
                is_on[(ends_s < event.until_s) & (ends_s + ahead_s > event.from_s)] = 1.0
        return is_on


class _Clock(NamedTuple):
    """What a clock on the wall says: arrays by moment."""

    local: pd.DatetimeIndex
    sine: Floats
    cosine: Floats
    weekday: Floats


@lru_cache(maxsize=64)  # the workloads of a fleet ask one after the other about the same moments
def _clock(zone: str, at_s: bytes) -> _Clock:
    moments = pd.to_datetime(np.frombuffer(at_s), unit="s", utc=True)
    try:
        local = pd.DatetimeIndex(moments).tz_convert(ZoneInfo(zone))
    except (KeyError, ValueError, OSError) as error:
        raise InputError(
            f"time zone {zone!r} is not known", where="calendar", fix="use an IANA name: Europe/Berlin"
        ) from error
    turn = 2 * np.pi * ((local.hour * 60 + local.minute) / 1440).to_numpy(dtype=np.float64)
    return _Clock(local, np.sin(turn), np.cos(turn), local.day_of_week.to_numpy(dtype=np.float64))


def _is_holiday(country: str, local: pd.DatetimeIndex) -> Floats:
    years = range(int(local.year.min()), int(local.year.max()) + 1) if len(local) else range(0)
    return np.isin(local.date, np.array(_holidays(country, years), dtype=object)).astype(np.float64)


@lru_cache(maxsize=64)
def _holidays(country: str, years: range) -> tuple[date, ...]:
    try:
        return tuple(holidays.country_holidays(country, years=years))
    except NotImplementedError as error:
        raise InputError(
            f"holidays of {country!r} are not known", where="calendar", fix="use an ISO code: DE"
        ) from error


WEEKDAY = "day of week"
"""Of use from three weeks of history on, over-fit before."""
