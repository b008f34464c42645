"""When the operator's freezes hold, and what they say."""

from datetime import UTC, datetime

import pytest
from apscheduler.triggers.cron import CronTrigger

from actuator.budgets import ChangeBudget
from foreslice.rules import Freeze, Rules, TimedBudget, Times

HOUR_S = 3600.0


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


SALE = Freeze("the sale", Times(None, 48 * HOUR_S, at("2026-11-27T00:00")))
WEEKEND = Freeze("nobody is here", Times(CronTrigger.from_crontab("0 18 * * fri", "UTC"), 62 * HOUR_S))
NIGHT = Freeze("backups", Times(CronTrigger.from_crontab("0 2 * * *", "Europe/Berlin"), HOUR_S))


@pytest.mark.parametrize(
    ("freeze", "now", "end"),
    [
        (SALE, "2026-11-26T23:59:59", None),
        (SALE, "2026-11-27T00:00", "2026-11-29T00:00"),
        (SALE, "2026-11-28T23:59:59", "2026-11-29T00:00"),
        (SALE, "2026-11-29T00:00", None),
        (WEEKEND, "2026-11-27T17:59:59", None),
        (WEEKEND, "2026-11-27T18:00", "2026-11-30T08:00"),
        (WEEKEND, "2026-11-30T07:59:59", "2026-11-30T08:00"),
        (WEEKEND, "2026-11-30T08:00", None),
        (NIGHT, "2026-01-10T01:30", "2026-01-10T02:00"),
        (NIGHT, "2026-07-10T00:30", "2026-07-10T01:00"),
        (NIGHT, "2026-07-10T01:30", None),
    ],
    ids=str,
)
def test_a_freeze_holds_from_its_beginning_to_its_end(freeze, now, end):
    assert (None if end is None else at(end)) == freeze.times.ends_s(at(now))


def test_every_freeze_that_holds_is_said_with_its_end():
    rules = Rules(acting=True, freezes=(SALE, WEEKEND, NIGHT))
    assert [
        "frozen until 2026-11-29 00:00 UTC: the sale",
        "frozen until 2026-11-30 08:00 UTC: nobody is here",
    ] == [*rules.frozen(at("2026-11-28T12:00"))]
    assert [] == [*rules.frozen(at("2026-11-25T12:00"))]


def test_a_budget_holds_always_or_at_its_times():
    always, weekend = ChangeBudget(9), ChangeBudget(0)
    rules = Rules(acting=True, budgets=(TimedBudget(always), TimedBudget(weekend, WEEKEND.times)))
    assert ((always,), (always, weekend)) == tuple(
        rules.budgets_at(at(day)) for day in ("2026-11-25T12:00", "2026-11-28T12:00")
    )
