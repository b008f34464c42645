"""Objectives as other tools write them, in true spellings with made-up figures, and what they mean."""

import json

import pytest
import yaml
from typer.testing import CliRunner

from fleet.errors import InputError
from foreslice.cli import app
from foreslice.settings.objectives.objective import joint_share
from foreslice.settings.objectives.read import as_settings, read
from foreslice.settings.slo import ClassSettings

PLANNER = """\
backend: vllm
optimization_target: sla
ttft: 500.0
itl: 50.0
throughput_adjustment_interval: 180
min_endpoint: 1
max_gpu_budget: 8
load_predictor: arima
"""
WORDED = """\
chat: ["TTFT <= 200ms p99", "ITL <= 50ms p99"]
rag: ["latency <= 3s p99", "TTFT <= 300ms p99", "ITL <= 100ms for 99% of requests"]
summarise: ["throughput >= 100 req/s"]
"""
CATALOGUE = '{"metadata": {"slos": {"ttft_p99_ms": 15000}}}'
CLASSES = """\
kind: ConfigMap
data:
  premium.yaml: |
    name: Premium
    priority: 1
    data:
      - {model: org/llama, slo-tpot: 24, slo-ttft: 500}
"""


@pytest.fixture
def found(tmp_path):
    """A function that reads a text as a file."""

    def found(text):
        path = tmp_path / "file.yaml"
        path.write_text(text)
        return read(path)

    return found


def said(these):
    return {(one.metric, one.statistic): one.limit for one in these.of}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (PLANNER, {"file": {("ttft", "mean"): 0.5, ("itl", "mean"): 0.05}}),
        (
            WORDED,
            {
                "chat": {("ttft", "p99"): 0.2, ("itl", "p99"): 0.05},
                "rag": {("e2e", "p99"): 3.0, ("ttft", "p99"): 0.3, ("itl", "p99"): 0.1},
                "summarise": {("throughput", ""): 100.0},
            },
        ),
        (CATALOGUE, {"file": {("ttft", "p99"): 15.0}}),
        (CLASSES, {"Premium": {("ttft", "mean"): 0.5, ("itl", "mean"): 0.024}}),
        (
            CLASSES + "      - {model: org/qwen, slo-ttft: 900}\n",
            {
                "Premium-org/llama": {("ttft", "mean"): 0.5, ("itl", "mean"): 0.024},
                "Premium-org/qwen": {("ttft", "mean"): 0.9},
            },
        ),
    ],
    ids=["Dynamo", "GuideLLM", "inference-perf", "WVA", "WVA, several models"],
)
def test_metric_statistic_and_unit_are_told_apart(found, text, expected):
    assert expected == {name: said(these) for name, these in found(text).items()}


def test_bounds_and_pace_of_a_planner_are_kept(found):
    these = found(PLANNER)["file"]
    assert (180, 1, 8, False) == (these.interval_s, these.floor, these.gpu_budget, these.only_advises)
    assert found(PLANNER + "scaling_mode: advisory\n")["file"].only_advises


def test_targets_that_the_planner_ignores_are_left_out_and_told(found):
    these = found(PLANNER.replace("sla", "throughput"))["file"]
    assert ((), ("ttft and itl are ignored there: optimization_target is throughput",)) == (
        these.of,
        these.warnings,
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            PLANNER.replace("500.0", "0.5"),
            "ttft: 0.5: would be 0.5 ms; expected between 10ms and 120s; look at its unit",
        ),
        (
            PLANNER.replace("50.0", "5001"),
            "itl: 5001: would be 5001 ms; expected between 1ms and 5s; look at its unit",
        ),
        ("a: [TTFT soon]", "TTFT soon: is no objective that is known; write it as `TTFT <= 200ms p99`"),
        ("a: [TTFT <= 1s p97]", "TTFT <= 1s p97: p97 is not held by any setting; take one of p50"),
        ("a: 1", "has no objectives that are known"),
        ("slos: {ttft_p99_ms: fast}", "ttft_p99_ms: fast: is no number; write a number, without a unit"),
        ("{", "is neither YAML nor JSON"),
        ("kind: ConfigMap\ndata: {a: '{'}", "file.yaml: a: is neither YAML nor JSON"),
        (PLANNER.replace("180", "180s"), "throughput_adjustment_interval: 180s: is no number"),
        (PLANNER.replace("max_gpu_budget: 8", "max_gpu_budget: 8.5"), "8.5: is no whole number"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_write(found, text, line):
    with pytest.raises(InputError) as refused:
        found(text)
    assert line in str(refused.value)


def test_what_settings_can_hold_is_written_as_classes_and_the_rest_as_notes(found):
    text = as_settings(found(WORDED))

    classes = yaml.safe_load(text)["classes"]
    assert {"chat", "rag"} == {name for name in classes if ClassSettings.model_validate(classes[name]).slo}
    assert "# summarise: throughput >= 100 requests/s: settings size by latency" in text
    assert "# chat: each holds by itself, all at once for 98 to 99 % of requests" in text


def test_a_mean_is_never_taken_for_a_percentile(found):
    text = as_settings(found(PLANNER))
    assert {"file": {"replicas": {"min": 1}}} == yaml.safe_load(text)["classes"]
    assert "# file: ttft mean <= 500ms: a mean is no percentile" in text


def test_what_a_planner_only_advises_is_a_class_that_only_advises(found):
    classes = yaml.safe_load(as_settings(found(PLANNER + "scaling_mode: advisory\n")))["classes"]
    assert {"file": {"replicas": {"min": 1}, "mode": "advise"}} == classes


def test_how_many_meet_all_is_bounded_and_not_known():
    low, high = joint_share([0.994, 0.992])
    assert (0.986, 0.992) == (pytest.approx(low), high)


def test_the_command_prints_settings_or_json(tmp_path):
    path = tmp_path / "slos.yaml"
    path.write_text(WORDED)
    told = CliRunner().invoke(app, ["config", "import", str(path)])
    assert (0, "classes:") == (told.exit_code, told.stdout.split("\n")[0])
    told = CliRunner().invoke(app, ["config", "import", str(path), "--output", "json"])
    assert {"metric": "ttft", "statistic": "p99", "limit": 0.2} == json.loads(told.stdout)["chat"][
        "objectives"
    ][0]
