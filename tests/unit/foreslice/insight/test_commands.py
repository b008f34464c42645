"""`foreslice status`, `explain` and `history changes` on the simulated fleet and on a file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from actuator.ports import PlanRecord, Readiness, StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.errors import InputError
from foreslice.cli import app
from foreslice.insight.changes import as_line, changes_of
from foreslice.insight.explain import as_text, explanation
from foreslice.insight.look import look
from foreslice.insight.names import named
from foreslice.insight.verdict import State, verdicts_of
from tests.builders.deciding import workload
from tests.builders.fleet import NOW_S, configuration, key, shape

CONFIG = Path(__file__).parents[4] / "config"
STEP = Step(Verb.SCALE_UP, "chat", shape("whole"), 2, "1", "a peak is coming")
CHANGE = ChangeSet(key("chat"), configuration("1 x whole"), configuration("2 x whole"), (STEP,), NOW_S)


def call(*arguments):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False).stdout


OFF = "  - {name: idle, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}, mode: 'off'}\n"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The simulated fleet, let act, beside a workload that is off; one look takes seconds."""
    text = (CONFIG / "default.yaml").read_text(encoding="utf-8")
    path = tmp_path_factory.mktemp("seen") / "settings.yaml"
    path.write_text(
        text.replace("acting: false", "acting: true").replace("mode: forecast-only", "mode: full") + OFF
    )
    return look(path)


def test_a_look_at_the_simulated_fleet_shows_what_it_is(seen):
    (found,) = verdicts_of(seen.tick, seen.looked_after)

    assert (State.CARRIED, True) == (found.state, seen.is_simulated)


def test_an_explanation_has_need_forecast_and_what_would_be_done(seen):
    told = explanation(seen, seen.workloads[0])

    assert "carried" == told["state"]
    assert {"reactive", "quiet_peak", "quiet_up", "forecast_up", "forecast_keep"} == set(told["need"]["by"])
    assert told["need"]["because"]
    peak = told["forecast"]["peaks"][0]
    mix = seen.tick.outlooks[seen.workloads[0].key].mix
    assert pytest.approx(peak["requests_per_s"] * mix.prompt_tokens) == peak["prompt_tokens_per_s"]
    assert peak["is_extrapolated"] == (peak["work"] > told["forecast"]["highest_seen"])
    assert {True} == {other["is_offered"] for other in told["alternatives"]}
    assert [] == told["changes"]


def test_an_alternative_that_takes_cards_cut_anew_says_so(seen):
    told = explanation(seen, seen.workloads[0])
    assert not any("cut anew" in line for line in as_text(told))
    other = {"configuration": "2 x 1g.10gb", "cards": 0.25, "is_offered": False}
    line = "           or 2 x 1g.10gb, 0.25 cards, if cards are cut anew"
    assert line in [*as_text({**told, "alternatives": [other]})]


def test_an_explanation_says_that_demand_is_like_that_of_no_day_before(seen):
    told = explanation(seen, seen.workloads[0])
    told["forecast"]["drift"] = {"times_limit": 1.4, "because": "nothing came in the last 12 h"}
    line = "           demand is like that of no day before: nothing came in the last 12 h"
    assert line in [*as_text(told)]


def test_an_explanation_has_what_holds_all_and_nothing_of_other_workloads(seen):
    ours = ["demand now is not read: http://prometheus:9090 does not answer", "default/chat: no forecast"]
    tick = replace(seen.tick, conditions=(*ours, "default/idle: no such Deployment"))

    assert ours == explanation(replace(seen, tick=tick), seen.workloads[0])["conditions"]


def test_what_is_off_is_not_explained(seen):
    with pytest.raises(InputError, match="default/idle: is off: nothing is known of it"):
        explanation(seen, seen.workloads[1])


def test_a_look_writes_nothing(seen):
    assert seen.settings.acting
    assert seen.tick.results
    assert not any(result.is_write for result in seen.tick.results)
    assert {()} == set(seen.plans.values())


def test_an_explanation_is_text_for_people():
    told = call("explain", "chat", "--config", str(CONFIG / "examples" / "file.yaml")).splitlines()

    assert "serving/chat is unknown: no cluster is seen." == told[0]
    assert any(line.startswith("need       0.24 to carry") for line in told)
    assert any(line.endswith("output tokens/s") for line in told)
    assert not any("above anything seen" in line for line in told)


def test_a_forecast_beyond_all_history_is_marked(seen):
    key = seen.workloads[0].key
    outlook = seen.tick.outlooks[key]
    beyond = replace(outlook, forecast=replace(outlook.forecast, highest=0.001))
    tick = replace(seen.tick, outlooks={**seen.tick.outlooks, key: beyond})
    lines = [*as_text(explanation(replace(seen, tick=tick), seen.workloads[0]))]

    assert "           * above anything seen (0.00): there is nothing to go by" in lines


def test_without_a_cluster_it_is_not_known():
    told = json.loads(call("status", "--config", str(CONFIG / "examples" / "file.yaml"), "-o", "json"))

    assert told["is_safe"] is None
    assert "no cluster is seen" in told["line"]


def test_without_a_cluster_nothing_was_changed():
    with pytest.raises(InputError, match="nothing is changed without a cluster"):
        call("history", "changes", "--config", str(CONFIG / "examples" / "file.yaml"))


@pytest.mark.parametrize("name", ["chat", "serving/chat"])
def test_a_name_is_enough_where_there_is_one(name):
    assert "chat" == named(name, [workload("chat"), workload("talk")]).key.name


def test_a_name_that_nobody_has_is_told_with_those_there_are():
    with pytest.raises(InputError, match="one of serving/chat, serving/talk"):
        named("chap", [workload("talk"), workload("chat")])


def test_a_change_is_told_with_how_long_it_took():
    change, at_s = CHANGE, CHANGE.decided_at_s
    done = StepRecord(StepState.DONE, at_s + 1, readiness=Readiness(at_s + 5, at_s + 92))
    record = PlanRecord(change, (done,), "1")

    told = list(changes_of([record]))

    assert 92.0 == told[0]["ready_s"]
    assert "done, ready after 92 s" in as_line(told[0])


def test_what_went_wrong_with_a_step_is_told():
    failed = StepRecord(StepState.FAILED, CHANGE.decided_at_s, "the quota is used up")
    record = PlanRecord(CHANGE, (failed,), "1")

    (told,) = changes_of([record])

    assert "failed (the quota is used up)" in as_line(told)
