"""What a replayed day says at its end, and the figures of each policy."""

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from fleet.change import Verb
from foreslice.demo import tell
from foreslice.replay import shipped_day
from foreslice.replayed import Policy, StepTaken
from foreslice.report.advice import advice
from foreslice.report.page import page
from foreslice.report.table import COSTS_HEAD, cost_rows, summary
from foreslice.standby.diary import PoolDay
from simulator.detail import TERMS
from simulator.insurance import PoolAccount, Use
from tests.builders.engines import tenant
from tests.builders.fleet import key
from tests.unit.foreslice.test_report_figures import FORECAST, RULE, day

CHAT, TALK = key("chat"), key("talk")


def policy(of, gpu_hours, attainment=1.0, **changes):
    one = day(chat=RULE, talk=FORECAST)
    figures = replace(one.summary, gpu_hours=gpu_hours, attainment=attainment, requests_offered=200.0)
    return replace(one, policy=of, summary=figures, **changes)


STATIC, OFF, ORACLE = (
    policy(Policy.STATIC, 40.0),
    policy(Policy.FORECAST_OFF, 20.0),
    policy(Policy.ORACLE, 15.0),
)


STEP = StepTaken(0.0, CHAT, Verb.SCALE_UP, "chat", 2, "more is asked")


def pool():
    account = PoolAccount(4.0, {CHAT: Use(2, 0.5, 20.0)}, 0.25)
    slices, short = np.full(3, 4), np.array([0, 2, 1])
    return PoolDay(account, slices, short + 1, short, np.array([3.0]), 0, 0, {})


def test_levers_are_told_with_what_they_save_and_what_they_cost_the_one_that_saves_most_first():
    ours = policy(Policy.FORESLICE, 22.0, 0.99, rungs={CHAT: "rule", TALK: "learned"})
    [line] = [line for line in advice([ours, OFF, STATIC, ORACLE]) if line.startswith("Levers")]
    told = line.split("beside: ")[1].split("; ")
    assert [
        "slices that move by a rule, instead of whole GPUs: 20.0 GPU-hours less (-50%), +0.00% of the",
        "to know demand, instead of forecasting it: 7.0 GPU-hours less (-32%), +1.00% of the",
        "the forecast, instead of the rule: 2.0 GPU-hours more (+10%), -1.00% of the",
    ] == [one.split(" requests")[0] for one in told]


def test_most_is_what_most_hours_are_saved_by_not_the_largest_share():
    pooled = policy(Policy.RULE_POOL, 9.0)
    static = policy(Policy.STATIC, 40.0)
    [line] = [line for line in advice([pooled, OFF, static]) if line.startswith("Levers")]
    moving, pool = line.split("beside: ")[1].split("; ")
    assert "whole GPUs: 20.0 GPU-hours less (-50%)" in moving
    assert "beside the rule: 11.0 GPU-hours less (-55%)" in pool


def test_what_rules_save_is_no_lever_of_forecasts():
    ours = policy(Policy.FORESLICE, 18.0, rungs={CHAT: "rule", TALK: "residual"})
    [line] = [line for line in advice([ours, OFF, STATIC, ORACLE]) if line.startswith("Levers")]
    assert "the forecast" not in line
    assert "forecasting" not in line
    assert (
        "rules by workload (no forecast decided at the end), instead of one rule: 2.0 GPU-hours less" in line
    )


def test_a_pool_is_a_lever_where_one_was_played_and_what_is_even_is_said_to_be():
    pooled = policy(Policy.RULE_POOL, 19.8)
    [line] = [line for line in advice([pooled, OFF, STATIC]) if line.startswith("Levers")]
    assert "a standby pool, beside the rule: 0.2 GPU-hours less (-1%, about the same)" in line
    assert "the forecast" not in line


def test_it_is_told_where_a_rule_decides_and_where_a_forecast():
    ours = policy(Policy.FORESLICE, 22.0, rungs={CHAT: "rule", TALK: "learned"})
    said = advice([ours, STATIC])
    assert any(line.startswith("A forecast does not pay for 1 (chat)") for line in said)
    assert "A forecast decided at the end for 1 (talk)." in said
    rungs = {CHAT: "last value", TALK: "last value + residual"}
    early = advice([policy(Policy.FORESLICE, 22.0, rungs=rungs), STATIC])
    assert (
        "The newest work and its rises decided at the end for 2 (chat, talk): no pattern is known." in early
    )
    assert not any(line.startswith("A forecast") for line in early)
    assert not any("A forecast" in line for line in advice([policy(Policy.RULE_POOL, 22.0), STATIC]))


def test_whose_requests_are_late_is_told_by_what_they_are_of_all_that_are():
    ours = policy(Policy.FORESLICE, 22.0, 0.9)
    shares = replace(ours.summary, attainment_by_workload={CHAT: 0.98, TALK: 0.82})
    counts = {"violation_minutes": {CHAT: 1, TALK: 9}, "offered": {CHAT: 300.0, TALK: 100.0}}
    late = replace(ours, summary=shares, detail=replace(ours.detail, **counts))
    said = "talk (75%, late in 9 minutes), chat (25%, late in 1 minutes)"
    assert (
        f"Under foreslice the requests outside their SLO are those of {said}." == advice([late, STATIC])[-1]
    )
    assert "Under foreslice no request was outside its SLO." == advice([ours, STATIC])[-1]
    many = [key(f"w{n}") for n in range(40)]
    shares = replace(ours.summary, attainment_by_workload=dict.fromkeys(many, 0.9) | {many[7]: 0.89})
    counts = {"violation_minutes": dict.fromkeys(many, 2), "offered": dict.fromkeys(many, 100.0)}
    each = replace(ours, summary=shares, detail=replace(ours.detail, **counts))
    assert advice([each, STATIC])[-1].endswith("are those of w7 (3%, late in 2 minutes).")


def test_what_each_policy_took_and_how_late_it_was_is_a_row():
    late = replace(OFF.detail, violation_minutes={CHAT: 2, TALK: 5})
    [row] = cost_rows([policy(Policy.FORESLICE, 8.0, 0.5, detail=late)])
    # Of 200 requests half were inside their SLO, in 8 GPU-hours, which 4 hours of work half filled.
    told = ("foreslice", "80", "12", "50%", "12", "100.00%", "-", "7")
    assert told == row[: len(told)]
    assert "3" == row[COSTS_HEAD.index("repartitions")]


def test_changes_are_told_for_each_workload_and_day():
    """Two workloads and three minutes of a day."""
    busy = replace(OFF, summary=replace(OFF.summary, changes=2))
    [row] = cost_rows([busy])
    assert f"{2 / 2 / (3 / 1440):.1f}" == dict(zip(COSTS_HEAD, row, strict=True))["changes a day"]


def test_scripts_are_told_the_same():
    tenants = {each: tenant([1.0] * 144, each.name) for each in (CHAT, TALK)}
    ours = policy(Policy.FORESLICE, 30.0, becauses={CHAT: "no forecast: it lost; max of 60 min decides"})
    told = summary([ours, STATIC, ORACLE], tenants, shipped_day(1))
    figures = told["policies"]["foreslice"]
    assert (0.75, 2.0) == (figures["over_static"], figures["over_oracle"])
    assert pytest.approx(200 / 30, abs=1e-4) == figures["in_slo_per_gpu_hour"]
    assert {"shop/chat": 0, "shop/talk": 0} == figures["violation_minutes"] or 2 == len(
        figures["violation_minutes"]
    )
    assert "no forecast: it lost; max of 60 min decides" == told["tenants"][0]["why that forecaster"]
    assert advice([ours, STATIC, ORACLE]) == told["advice"]


def test_every_key_of_the_summary_is_documented_and_there_is_no_other():
    """Below `tenants` keys are the heads of a table; a workload's are its name."""
    ours = replace(policy(Policy.FORECAST_POOL, 30.0), pool=pool(), steps=(STEP,))
    told = summary(
        [ours, STATIC], {each: tenant([1.0] * 144, each.name) for each in (CHAT, TALK)}, shipped_day(1)
    )
    figures = told["policies"]["forecast+pool"]
    use = figures["pool"]["uses"][str(CHAT)]
    found = {*told, *figures, *figures["pool"], *use, *told["steps"][0], *figures["pool"]["short"][0], *TERMS}
    docs = (Path(__file__).parents[3] / "docs" / "replay.md").read_text()
    section = docs.split("### `--output json` of the fine level")[1].split("\n## ")[0]
    rows = [row for row in section.splitlines() if row.startswith("| `")]
    assert {"lag", "null", *found} == set(re.findall(r"`([a-z_0-9]+)`", "\n".join(rows)))


def test_the_page_says_which_rule_decides_and_why_and_ends_with_advice():
    tenants = {each: tenant([1.0] * 144, each.name) for each in (CHAT, TALK)}
    because = "no forecast: it lost; 1.1 x the highest of the last 10 min decides"
    days = [policy(Policy.FORESLICE, 30.0, rungs={CHAT: "rule"}, becauses={CHAT: because}), STATIC]
    text = page(days, tenants, shipped_day(1))
    row = "".join(f'<td class="text">{cell}</td>' for cell in ("chat", "rule", because))
    assert f"<tr>{row}</tr>" in text
    assert all(line in text.split("<h2>For this fleet</h2>")[1] for line in advice(days))


def test_the_terminal_ends_with_the_same_advice():
    days = [policy(Policy.FORESLICE, 30.0, rungs={CHAT: "rule"}), OFF, STATIC]
    console = Console(record=True, width=500, file=StringIO())
    tell(days, shipped_day(1), "a day", console)
    told = [line.rstrip() for line in console.export_text().splitlines()]
    assert [f"- {line}" for line in advice(days)] == told[-len(advice(days)) :]
