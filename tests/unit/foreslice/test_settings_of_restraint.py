"""Settings that say how fast the fleet may shrink, and when nothing may be moved or removed."""

import pytest

from actuator.budgets import ChangeBudget, Kind, Per
from actuator.pace import FallLimits
from fleet.errors import InputError
from foreslice.rules import TimedBudget
from foreslice.settings.load import load, rules_of
from tests.unit.foreslice.test_settings import GOOD, HEAD


@pytest.fixture
def rules(tmp_path):
    def read(text):
        path = tmp_path / "foreslice.yaml"
        path.write_text(text + HEAD + GOOD)
        return rules_of(load(path))

    return read


def test_without_a_word_the_fleet_shrinks_by_15_percent_in_ten_minutes_and_is_never_frozen(rules):
    plain = rules("")
    assert (False, FallLimits(600.0, 0.15, 5, 0.2), ()) == (plain.acting, plain.limits, plain.freezes)


def test_limits_arrive(rules):
    told = rules("shrink: {within: 5m, share: 0.3, workloads: 8, workload_share: 0.5}\n")
    assert FallLimits(300.0, 0.3, 8, 0.5) == told.limits
    assert (4, 9) == (rules("").at_once, rules("shrink: {at_once: 9}\n").at_once)


BUDGETS = """
budgets:
  - {most: 6}
  - most: 40
    within: 7d
    per: fleet
    kinds: [reshape]
    because: nights
    when: {schedule: "0 2 * * *", lasts: 1h}
"""


def test_budgets_arrive(rules):
    plain, timed = rules(BUDGETS).budgets
    assert (TimedBudget(ChangeBudget(6)), 3600.0) == (plain, timed.times.lasts_s)
    week = ChangeBudget(40, 604_800.0, Per.FLEET, frozenset({Kind.RESHAPE}), "nights")
    assert week == timed.budget


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("most: 21", "most must be 20 or less: so many changes of a workload are kept"),
        ("most: 2, when: {schedule: '0 2 * * *'}", "name either from and to, or schedule and lasts"),
        ("most: 2, kinds: [add]", "'remove' or 'reshape'"),
        ("within: 1d", "most: is missing"),
    ],
)
def test_a_budget_that_cannot_be_meant_is_refused_with_its_place(rules, budget, message):
    with pytest.raises(InputError, match=r"1: budgets\[0\].*") as refused:
        rules(f"budgets: [{{{budget}}}]\n")
    assert message in str(refused.value)


ONCE = "freezes: [{because: the sale, from: 2026-11-27T00:00:00+01:00, to: '2026-11-30T00:00:00Z'}]\n"
AGAIN = "freezes: [{because: backups, schedule: '0 2 * * *', lasts: 1h, timezone: Europe/Berlin}]\n"


def test_freezes_arrive(rules):
    [once], [again] = rules(ONCE).freezes, rules(AGAIN).freezes
    assert ("the sale", 1_795_734_000.0, 262_800.0) == (
        once.because,
        once.times.from_s,
        once.times.lasts_s,
    )
    assert ("backups", 3600.0) == (again.because, again.times.lasts_s)
    assert 1_795_744_800.0 == again.times.ends_s(1_795_742_000.0)


FORM = "name either from and to, or schedule and lasts"


@pytest.mark.parametrize(
    ("freeze", "message"),
    [
        ("because: x", FORM),
        ("because: x, from: 2026-11-27T00:00:00Z", FORM),
        ("because: x, schedule: '0 2 * * *'", FORM),
        ("because: x, from: 2026-11-27T00:00:00Z, to: 2026-11-28T00:00:00Z, lasts: 1h", FORM),
        ("because: x, from: 2026-11-27T00:00:00Z, to: 2026-11-27T00:00:00Z", "from must be before to"),
        ("because: x, from: 2026-11-27T00:00:00, to: 2026-11-28T00:00:00Z", "from: must have timezone info"),
        ("because: x, schedule: '0 2 * *', lasts: 1h", "is no cron schedule of five fields"),
        ("because: x, schedule: '61 2 * * *', lasts: 1h", "is no cron schedule of five fields"),
        (
            "because: x, schedule: '0 2 * * *', lasts: 1h, timezone: Mars",
            "is no time zone, write e.g. Europe/Berlin",
        ),
        ("schedule: '0 2 * * *', lasts: 1h", "because: is missing"),
    ],
)
def test_a_freeze_that_cannot_be_meant_is_refused_with_its_place(rules, freeze, message):
    with pytest.raises(InputError, match=r"1: freezes\[0\].*") as refused:
        rules(f"freezes: [{{{freeze}}}]\n")
    assert message in str(refused.value)
