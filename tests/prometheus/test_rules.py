"""The alerts of deploy/monitoring by Prometheus' own tool: each fires when it should, and alone."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

RULES = Path(__file__).parents[2] / "deploy" / "monitoring" / "rules.yaml"
ALERTS = {rule["alert"]: rule for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]}

CHAT = 'namespace="shop",workload="chat"'
ASKED = f'foreslice_need_replicas{{{CHAT},kind="reactive"}}'
CARRIED = f"foreslice_carried_replicas{{{CHAT}}}"
SHORT = f"foreslice_short_replicas{{{CHAT}}}"
ENGINES_SHORT = f"foreslice_standby_short_slices{{{CHAT}}}"
STUCK = f"foreslice_standby_stuck_total{{{CHAT}}}"
DRIFTS = f"foreslice_demand_drift_ratio{{{CHAT}}}"
AGE = f"foreslice_forecast_age_seconds{{{CHAT}}}"
RADIUS = f"foreslice_blast_radius_ratio{{{CHAT}}}"
READY = f'foreslice_standing_replicas{{{CHAT},shape="h100-80gb:whole",state="ready"}}'
FAILED = 'foreslice_steps_total{verb="scale-up",outcome="failed"}'
BUGS = 'foreslice_job_failures_total{task="tick"}'
QUICK, MOST, ALL = (f'foreslice_tick_seconds_bucket{{le="{le}"}}' for le in ("0.2", "5.0", "+Inf"))
CONDITIONS, SETTINGS = "foreslice_conditions", "foreslice_settings_usable"
FIRST, SECOND = 'foreslice_leads{pod="a"}', 'foreslice_leads{pod="b"}'

# Values of two hours, a minute each, in promtool's words: start, then what is added, so many times.
WELL = {
    CONDITIONS: "0x120",
    SETTINGS: "1x120",
    FIRST: "1x120",
    SECOND: "0x120",
    ASKED: "2x120",
    CARRIED: "2.5x120",
    SHORT: "0x120",
    ENGINES_SHORT: "0x120",
    STUCK: "0x120",
    DRIFTS: "0.6x120",
    AGE: "80x120",
    RADIUS: "0.5x120",
    READY: "2x120",
    FAILED: "0x120",
    BUGS: "0x120",
    QUICK: "0+6x120",
    MOST: "0+6x120",
    ALL: "0+6x120",
}
WRONG = {
    "ForesliceGone": dict.fromkeys(WELL),
    "ForesliceNobodyLeads": {FIRST: "0x120"},
    "ForesliceTwoLead": {SECOND: "1x120"},
    "ForesliceDemandNotCarried": {CARRIED: "1.9x120"},
    "ForesliceShort": {SHORT: "0.1x120"},
    "ForesliceStandbyShort": {ENGINES_SHORT: "1x120"},
    "ForesliceStandbyStuck": {STUCK: "0+1x120"},
    "ForesliceForecastOld": {AGE: "700x120"},
    "ForesliceDemandDrifts": {DRIFTS: "1.1x120"},
    "ForesliceSettingsRefused": {SETTINGS: "0x120"},
    "ForesliceHeldBack": {CONDITIONS: "1x120"},
    "ForesliceStepsFail": {FAILED: "0+1x120"},
    "ForesliceOneCardCarriesAll": {RADIUS: "1x120"},
    "ForesliceSlow": {QUICK: "0x120"},
    "ForesliceBug": {BUGS: "0x100 1x20"},
}
# What a test of one minute's step cannot show: these wait for no `for`, but for enough to have happened.
AFTER_MIN = {"ForesliceStepsFail": (1, 30), "ForesliceStandbyStuck": (1, 30), "ForesliceBug": (99, 102)}


def minutes(rule):
    """When an alert is not firing yet and when it is, in minutes since all went wrong."""
    lasts = int(rule.get("for", "0m").removesuffix("m"))
    return AFTER_MIN.get(rule["alert"], (lasts - 1, lasts + 11))


def fired(tmp_path, series, at_min):
    """Have promtool evaluate the rules on series, and return which alerts it says are firing."""
    values = [{"series": name, "values": text} for name, text in series.items() if text is not None]
    firing = {
        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
        "eval_time": f"{at_min}m",
        "exp_samples": [],
    }
    tests = [{"interval": "1m", "input_series": values, "promql_expr_test": [firing]}]
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run(
        [shutil.which("promtool"), "test", "rules", file], check=False, capture_output=True, text=True
    )
    assert "error" not in done.stderr.lower()
    return {name for name in ALERTS if f'alertname="{name}"' in done.stdout + done.stderr}


def test_prometheus_takes_the_rules():
    done = subprocess.run(
        [shutil.which("promtool"), "check", "rules", RULES], check=False, capture_output=True, text=True
    )
    assert (0, f"SUCCESS: {len(ALERTS)} rules found") == (done.returncode, done.stdout.split("\n")[1].strip())


def test_while_all_is_well_nothing_fires(tmp_path):
    assert set() == fired(tmp_path, WELL, 119)


def test_a_workload_of_one_replica_is_not_told_that_one_card_carries_it(tmp_path):
    assert set() == fired(tmp_path, {**WELL, RADIUS: "1x120", READY: "1x120"}, 119)


def test_who_only_observes_is_not_told_that_nobody_leads(tmp_path):
    assert set() == fired(tmp_path, {**WELL, FIRST: None, SECOND: None}, 119)


@pytest.mark.parametrize("alert", ALERTS)
def test_each_alert_fires_alone_and_in_time(tmp_path, alert):
    before_min, after_min = minutes(ALERTS[alert])
    series = {**WELL, **WRONG[alert]}
    assert set() == fired(tmp_path, series, max(before_min, 0))
    assert {alert} == fired(tmp_path, series, after_min)
