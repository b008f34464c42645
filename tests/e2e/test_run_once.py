"""`foreslice run --once` with each source and cluster, and the data that people get wrong."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from foreslice.run import run_once

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "config" / "examples" / "file.yaml"
RECORDING = ROOT / "tests" / "data" / "recorded" / "vllm.csv"

WORKLOAD = """\
workloads:
  - {name: chat, namespace: serving, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}
"""
FILE = f"version: v1\nmetrics: {{source: file, path: {RECORDING}}}\n"
EMBEDDED = "version: v1\nmetrics: {source: embedded}\n"
NONE, WORLD = "cluster: {kind: none}\n", "cluster: {kind: embedded, nodes: 1}\n"

NUMBER, TEXT, WHOLE = {"type": "number"}, {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}


def group(required, **optional):
    properties = required | optional
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


VALUE = {"type": ["number", "null"]}
PEAK = group(
    {
        "window_s": WHOLE,
        "quantile": NUMBER,
        "work": NUMBER,
        "is_extrapolated": {"type": "boolean"},
        "requests_per_s": VALUE,
        "prompt_tokens_per_s": VALUE,
        "output_tokens_per_s": VALUE,
    }
)
UNSERVED = group({"lacked": {"type": "array", "items": NUMBER}, "asked": NUMBER, "days": WHOLE})
WORTH = group(
    {
        "is_used": {"type": "boolean"},
        "because": TEXT,
        "value": VALUE,
        "low": VALUE,
        "high": VALUE,
        "unserved": {"oneOf": [{"type": "null"}, UNSERVED]},
    }
)
DRIFT = group({"times_limit": VALUE, "because": TEXT, "since_s": VALUE})
FORECAST = group(
    {
        "rung": TEXT,
        "made_at_s": NUMBER,
        "worth": WORTH,
        "drift": {"oneOf": [{"type": "null"}, DRIFT]},
        "highest_seen": VALUE,
        "peaks": {"type": "array", "items": PEAK, "minItems": 30},
    }
)
SHOWN = group(
    {
        "is_simulated": {"type": "boolean"},
        "at_s": NUMBER,
        "conditions": TEXTS,
        "shadow": {"type": "null"},
        "gpus_in_use": {"type": ["integer", "null"]},
        "workloads": {
            "type": "array",
            "items": group(
                {
                    "workload": TEXT,
                    "mode": TEXT,
                    "forecast": FORECAST,
                    "no_forecast_because": {"type": "null"},
                    "capacity_per_replica": {"type": "object", "additionalProperties": NUMBER},
                    "need": group({"up": NUMBER, "keep": NUMBER, "reactive": NUMBER}),
                    "demand_from": TEXT,
                    "distrust": TEXTS,
                    "cheapest": {"type": ["string", "null"]},
                    "cheapest_if_cut_anew": {"type": ["string", "null"]},
                },
                stands=TEXT,
                goal=TEXT,
                short=NUMBER,
                because=TEXTS,
                without_forecast=TEXT,
            ),
        },
        "steps": {
            "type": "array",
            "items": group(
                {
                    "workload": TEXT,
                    "verb": TEXT,
                    "variant": TEXT,
                    "replicas": WHOLE,
                    "outcome": TEXT,
                    "reason": TEXT,
                }
            ),
        },
    }
)


@pytest.fixture
def settings(tmp_path):
    def write(text):
        path = tmp_path / "settings.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def foreslice(*arguments):
    """Run the console script; return exit code, standard output and error."""
    script = Path(sys.executable).with_name("foreslice")
    done = subprocess.run(
        [script, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


def no_constants(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize(
    ("text", "has_cluster"),
    [
        (FILE + NONE + WORKLOAD, False),
        (FILE + WORLD + WORKLOAD, True),
        (EMBEDDED + WORLD + WORKLOAD, True),
    ],
    ids=["file alone", "file and world", "world"],
)
def test_json_of_a_tick_has_the_same_form_everywhere(text, has_cluster, settings, capsys):
    run_once(settings(text), as_json=True)
    shown = json.loads(capsys.readouterr().out, parse_constant=no_constants)

    jsonschema.validate(shown, SHOWN)
    (chat,) = shown["workloads"]
    assert [] == shown["conditions"]
    assert chat["forecast"]["worth"]["because"]
    assert has_cluster == (shown["gpus_in_use"] is not None)
    assert has_cluster == shown["is_simulated"]
    assert ("serving/chat", "forecast-only") == (chat["workload"], chat["mode"])
    assert has_cluster == ("goal" in chat)
    assert 0 < chat["need"]["reactive"] <= chat["need"]["up"] <= chat["need"]["keep"]


@pytest.mark.parametrize(("text", "is_simulated"), [(FILE + NONE, False), (FILE + WORLD, True)])
def test_text_of_a_tick_says_whether_the_cluster_is_simulated(text, is_simulated, settings, capsys):
    run_once(settings(text + WORKLOAD), as_json=False)
    assert is_simulated == ("Simulated: cards, nodes" in capsys.readouterr().out)


def test_text_of_a_tick_is_a_row_a_workload(settings, capsys):
    run_once(settings(EMBEDDED + WORLD + WORKLOAD), as_json=False)
    out = capsys.readouterr().out

    assert ["workload", "need", "asked", "now"] == out.split()[:4]
    assert 1 == len(re.findall(r"^serving/chat +\d\.\d\d +\d\.\d\d +\S", out, re.MULTILINE))


def test_the_shipped_example_works_from_a_checkout_and_from_any_folder(tmp_path):
    script = Path(sys.executable).with_name("foreslice")
    done = subprocess.run(
        [script, "run", "--config", EXAMPLE, "--once"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert "serving/chat" in done.stdout
    assert "" == done.stderr


HEADER = "timestamp,series,namespace,pod,model_name,value\n"
ROW = "0,vllm:request_success_total,serving,chat-0,chat,1\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "is empty"),
        (HEADER, "holds no rows"),
        ("a,b\n1,2\n", "misses column timestamp, series, pod, namespace, value"),
        (HEADER + ROW.replace("0,", "yesterday,", 1), "timestamp 'yesterday' in line 2 cannot be read"),
        (HEADER + ROW + ROW.replace(",1\n", ",many\n"), "value 'many' in line 3 cannot be read"),
        (HEADER + ROW.replace("chat,1", "other,1"), "no row of workload serving/chat"),
    ],
)
def test_a_metrics_file_that_cannot_be_used_is_one_line_and_exit_code_2(
    content, expected, settings, tmp_path
):
    (tmp_path / "metrics.csv").write_text(content, encoding="utf-8")
    path = settings("version: v1\nmetrics: {source: file, path: metrics.csv}\n" + WORKLOAD)
    code, out, err = foreslice("run", "--once", "--config", path)

    assert (2, "") == (code, out)
    assert err.startswith(f"foreslice: {tmp_path}/metrics.csv: {expected}")
    assert 1 == err.count("\n")


def test_a_missing_metrics_file_is_one_line_and_exit_code_2(settings):
    path = settings("version: v1\nmetrics: {source: file, path: gone.csv}\n" + WORKLOAD)

    assert (
        2,
        "",
        f"foreslice: {path}:2: metrics.path: no such file (is 'gone.csv')\n",
    ) == foreslice("run", "--once", "--config", path)


def test_a_recording_with_other_line_ends_and_a_byte_order_mark_is_the_same(settings, tmp_path, capsys):
    content = RECORDING.read_text(encoding="utf-8")
    (tmp_path / "metrics.csv").write_bytes(b"\xef\xbb\xbf" + content.replace("\n", "\r\n").encode())
    text = FILE + NONE + WORKLOAD
    run_once(settings(text), as_json=True)
    plain = capsys.readouterr().out
    run_once(settings(text.replace(str(RECORDING), "metrics.csv")), as_json=True)

    assert plain == capsys.readouterr().out


def test_a_model_that_no_card_of_the_fleet_holds_is_one_line(settings):
    path = settings(FILE + "cluster: {kind: none, board: t4-16gb}\n" + WORKLOAD.replace("7b", "14b"))
    code, out, err = foreslice("run", "--once", "--config", path)

    assert (2, "") == (code, out)
    assert (
        "foreslice: workload serving/chat: model qwen2.5-14b-bf16 fits on none of the boards t4-16gb;"
        " add a board with more memory, name a smaller model or a shorter max_model_len\n"
    ) == err


def test_an_objective_that_nothing_keeps_is_said_under_the_table(settings, capsys):
    run_once(settings(FILE + WORKLOAD.replace("{p95: 1s}", "{p95: 20ms}")), as_json=False)

    assert "serving/chat: no number of replicas keeps TTFT at " in capsys.readouterr().out


def test_the_tightest_and_the_loosest_objectives_that_are_plausible_can_be_sized(settings, capsys):
    tight = WORKLOAD.replace("{p95: 1s}", "{p99: 10ms}, itl: {p99: 1ms}")
    loose = WORKLOAD.replace("{p95: 1s}", "{p50: 120s}, itl: {p50: 5s}")
    ups = []
    for workload in (tight, loose):
        run_once(settings(FILE + WORLD + workload), as_json=True)
        shown = json.loads(capsys.readouterr().out, parse_constant=no_constants)
        ups.append(shown["workloads"][0]["need"]["up"])

    assert ups[0] > ups[1] > 0
