"""Whether a workload may be left more to foreslice."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from actuator.ports import PlanRecord, StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.demand import Worth
from fleet.workload import Mode
from foreslice.cli import app
from foreslice.insight.graduation import Evidence, graduation_of
from foreslice.insight.verdict import State, Verdict
from tests.builders.deciding import forecast, workload
from tests.builders.fleet import NOW_S, configuration, key, shape
from tests.unit.foreslice.test_telemetry import outlook

DAY_S = 86_400.0
STEP = Step(Verb.SCALE_UP, "chat", shape("whole"), 2, "1", "a peak is coming")
CHANGE = ChangeSet(key("chat"), configuration("1 x whole"), configuration("2 x whole"), (STEP,), NOW_S)
FAILED = PlanRecord(CHANGE, (StepRecord(StepState.FAILED, NOW_S),), "1")
DONE = PlanRecord(CHANGE, (StepRecord(StepState.DONE, NOW_S),), "1")
RULE = Worth(is_used=False, because="forecasts saved nothing for sure")


def evidence(mode=Mode.SCALE_UP_ONLY, state=State.CARRIED, **more):
    """Evidence that speaks for every next mode."""
    verdict = Verdict(key("chat"), mode.label, state, 1.0, 0.5, 0.5, "why")
    values = {
        "known_s": 10 * DAY_S,
        "history_s": 10 * DAY_S,
        "outlook": outlook(forecast("chat", level=0.5)),
        "plans": (DONE,) * 6,
        "starts": 6,
        "budgets": 1,
    }
    return Evidence(workload(mode=mode), verdict, **(values | more))


def missing(of):
    return [check.name for check in graduation_of(of).checks if not check.is_met]


@pytest.mark.parametrize("mode", [Mode.OFF, Mode.FORECAST_ONLY, Mode.ADVISE, Mode.SCALE_UP_ONLY])
def test_with_all_evidence_it_goes_one_rung_on(mode):
    answer = graduation_of(evidence(mode))

    assert (Mode(mode + 1), True) == (answer.to, answer.is_ready)


def test_what_is_off_has_no_forecast_and_may_be_looked_at():
    assert graduation_of(evidence(Mode.OFF, outlook=None)).is_ready


def test_after_the_last_rung_there_is_none():
    answer = graduation_of(evidence(Mode.FULL))

    assert (None, False, ()) == (answer.to, answer.is_ready, answer.checks)


def test_each_rung_asks_for_more():
    asked = [len(graduation_of(evidence(mode)).checks) for mode in (Mode.FORECAST_ONLY, Mode.ADVISE)]

    assert asked[0] < asked[1] < len(graduation_of(evidence()).checks)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"known_s": 2.9 * DAY_S, "history_s": 3 * DAY_S}, "history"),
        ({"known_s": 9.4 * DAY_S}, "readings"),
        ({"outlook": None}, "forecast"),
        ({"state": State.ABSENT}, "handled"),
        ({"objections": ("Argo CD applies the field",)}, "dry run"),
        ({"starts": 4}, "additions"),
        ({"plans": (DONE, FAILED)}, "additions"),
        ({"distrust": ("a pod is not scraped",)}, "trust"),
        ({"budgets": 0}, "disruption budget"),
    ],
)
def test_one_thing_that_is_missing_holds_it_back(more, name):
    assert [name] == missing(evidence(**more))


def test_what_only_removals_take_is_not_asked_for_additions():
    assert [] == missing(evidence(Mode.ADVISE, starts=0, budgets=0, distrust=("doubt",)))


def test_a_workload_that_the_rule_carries_may_go_on_and_is_told_why():
    judged = replace(forecast("chat", level=0.5), worth=RULE)
    answer = graduation_of(evidence(outlook=outlook(judged)))

    assert answer.is_ready
    assert "the rule decides: forecasts saved nothing for sure" in [check.seen for check in answer.checks]


def test_the_first_line_says_how_many_may_go_on():
    config = Path(__file__).parents[4] / "config" / "examples" / "file.yaml"
    shown = CliRunner().invoke(app, ["graduation", "--config", str(config)], catch_exceptions=False).stdout

    assert "0 of 1 workloads may go on to their next mode." == shown.splitlines()[0]
    assert "0.2 days of demand are known" in shown
