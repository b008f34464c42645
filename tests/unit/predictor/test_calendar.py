"""What the calendar says of a moment."""

from datetime import UTC, datetime

import numpy as np
import pytest

from fleet.errors import InputError
from predictor.calendar import WEEKDAY, Calendar, Event


def at(*moments):
    return np.array([datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() for text in moments])


def columns(calendar, *moments, ahead_s=0.0):
    return dict(calendar.columns(at(*moments), ahead_s))


def turn(said):
    return np.degrees(np.arctan2(said["time of day, sine"], said["time of day, cosine"])) % 360 / 15


def test_time_of_day_is_local_across_a_change_of_the_clock():
    """New York left summer time on 2 November 2014 at 06:00 UTC."""
    said = columns(Calendar("America/New_York"), "2014-11-01T13:00", "2014-11-02T14:00")
    np.testing.assert_allclose([9, 9], turn(said))


def test_the_hour_that_the_clock_repeats_has_its_time_of_day_twice():
    said = columns(Calendar("America/New_York"), "2014-11-02T05:30", "2014-11-02T06:30")
    np.testing.assert_allclose([1.5, 1.5], turn(said))


def test_the_day_that_the_clock_shortens_has_23_hours_and_no_hole():
    """A20: New York's clock went from 02:00 to 03:00 on 9 March 2014, at 07:00 UTC."""
    midnights = [f"2014-03-{day:02}T{hour:02}:00" for day, hour in ((9, 5), (10, 4))]
    first, last = at(*midnights)
    moments = np.arange(first, last, 1800.0)
    said = dict(Calendar("America/New_York").columns(moments, 0.0))
    hours = turn(said).round(9) % 24
    assert 2 * 23 == len(hours)
    assert np.isfinite(np.column_stack(list(said.values()))).all()
    assert {2.0, 2.5} == set(np.arange(0, 24, 0.5)) - set(hours)
    assert {6.0} == set(said[WEEKDAY]), "the same Sunday throughout"


def test_the_same_values_three_days_later_have_another_weekday():
    """A17: a wrong time axis shows."""
    said = columns(Calendar(), "2026-06-01T12:00", "2026-06-04T12:00")
    assert [0, 3] == list(said[WEEKDAY])


def test_weekday_is_that_of_the_time_zone():
    assert [0] == list(columns(Calendar("Asia/Tokyo"), "2026-05-31T20:00")[WEEKDAY])


def test_public_holidays_are_those_of_the_country():
    said = columns(Calendar(country="US"), "2014-12-24T12:00", "2014-12-25T12:00", "2015-01-01T12:00")
    assert [0, 1, 1] == list(said["holiday"])
    assert "holiday" not in columns(Calendar(), "2014-12-25T12:00")


def test_an_event_is_on_while_its_time_overlaps_the_window_ahead():
    (start,), (end,) = at("2026-06-01T10:00"), at("2026-06-01T11:00")
    calendar = Calendar(events=(Event("deploy", start, end), Event("launch", end, end + 60)))
    moments = ["2026-06-01T09:00", "2026-06-01T09:45", "2026-06-01T10:59", "2026-06-01T11:00"]
    said = columns(calendar, *moments, ahead_s=1800)
    assert [0, 1, 1, 0] == list(said["event: deploy"])
    assert [0, 0, 1, 1] == list(said["event: launch"])


@pytest.mark.parametrize(
    ("calendar", "said"),
    [(Calendar("Europe/Atlantis"), "Europe/Atlantis"), (Calendar(country="XX"), "XX"), (Calendar(""), "''")],
)
def test_an_unknown_place_is_one_clear_line(calendar, said):
    with pytest.raises(InputError, match=said):
        columns(calendar, "2026-06-01T09:00")
