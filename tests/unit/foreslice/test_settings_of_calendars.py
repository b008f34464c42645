"""The calendar that a workload's users live by, from the settings to what models see."""

import numpy as np
import pytest

from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice.compose import calendars_of
from foreslice.settings.load import load
from foreslice.training import rung_of
from predictor.calendar import Calendar, Event
from tests.builders.recipes import recipe
from tests.builders.work import DAY, KEY, series
from tests.unit.foreslice.test_settings import GOOD, HEAD, one

QUICK = recipe(trees=1)
CAMPAIGN = {"kind": "campaign", "from": "2026-12-01T08:00:00+01:00", "to": "2026-12-01T20:00:00+01:00"}


@pytest.fixture
def calendars(tmp_path):
    def read(workload):
        path = tmp_path / "foreslice.yaml"
        path.write_text(HEAD + workload)
        return calendars_of(load(path))

    return read


def test_without_a_word_a_workload_lives_by_the_recipes_calendar(calendars):
    assert {} == calendars(GOOD)


def test_a_calendar_arrives(calendars):
    told = calendars(one(calendar={"zone": "Europe/Berlin", "country": "DE", "events": [CAMPAIGN]}))
    event = Event("campaign", 1_796_108_400.0, 1_796_151_600.0)
    assert {WorkloadKey("default", "chat"): Calendar("Europe/Berlin", "DE", (event,))} == told


@pytest.mark.parametrize(
    ("calendar", "message"),
    [
        ({"zone": "Mars/Olympus"}, "is no time zone"),
        ({"country": "XX"}, "is no country whose holidays are known"),
        ({"events": [CAMPAIGN | {"to": CAMPAIGN["from"]}]}, "from must be before to"),
        ({"events": [CAMPAIGN | {"from": "2026-12-01T08:00:00"}]}, "timezone"),
        ({"events": [CAMPAIGN | {"kind": "Big Sale"}]}, "kind"),
    ],
)
def test_what_is_no_calendar_is_refused(calendars, calendar, message):
    with pytest.raises(InputError, match=message):
        calendars(one(calendar=calendar))


def test_a_model_is_learnt_by_the_calendar_of_its_workload():
    history, nowhere = series(np.ones(5 * DAY)), Calendar(zone="Mars/Olympus")
    with pytest.raises(InputError, match="time zone 'Mars/Olympus' is not known"):
        rung_of(history, {}, QUICK, calendars={KEY: nowhere})
    assert rung_of(history, {}, QUICK.living_by(nowhere), calendars={KEY: Calendar()}) is None
