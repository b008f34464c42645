"""`foreslice history export` leaves a table that says what was asked, or one line that says why not."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fleet.errors import InputError
from foreslice.history import run_export
from foreslice.settings.load import load

RECORDED = Path(__file__).parents[2] / "data" / "recorded" / "vllm.csv"


@pytest.fixture
def config(tmp_path):
    """Settings on the recorded file, whose time ends at 16:00."""
    path = tmp_path / "settings.yaml"
    path.write_text(
        f"""\
version: v1
metrics: {{source: file, path: {RECORDED}}}
cluster: {{kind: kubernetes, kubeconfig: there-is-none}}
workloads:
  - {{name: chat, namespace: serving, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}}}}
"""
    )
    return path


def export(config, out, since=None, until=None, *, as_json=True):
    run_export(config, out, since, until, as_json=as_json)


@pytest.mark.parametrize(("suffix", "read"), [(".csv", pd.read_csv), (".parquet", pd.read_parquet)])
def test_both_forms_hold_the_same(config, tmp_path, capsys, suffix, read):
    out = tmp_path / f"demand{suffix}"
    export(config, out)
    told, table = json.loads(capsys.readouterr().out), read(out)
    counted = table["state"].value_counts()
    assert str(out) == told["file"]
    assert ["serving/chat"] == list(told["minutes"])
    assert {state: int(counted.get(state, 0)) for state in told["minutes"]["serving/chat"]} == told[
        "minutes"
    ]["serving/chat"]
    assert 10 * 1440 == len(table), "as far back as forecasts learn"
    known = table[table["state"] != "unknown"]
    assert 200 < len(known) < 300
    assert known["requests_per_s"].gt(0).all()
    assert table[table["state"] == "unknown"]["requests_per_s"].isna().all()


def test_a_span_has_a_row_for_each_of_its_minutes(config, tmp_path, capsys):
    whole, part = tmp_path / "whole.csv", tmp_path / "part.csv"
    export(config, whole)
    table = pd.read_csv(whole)
    known = table[table["state"] != "unknown"]
    since, until = known["time"].iloc[10], known["time"].iloc[40]
    capsys.readouterr()
    export(config, part, since, until)
    told = json.loads(capsys.readouterr().out)
    cut = pd.read_csv(part)
    assert (pd.Timestamp(since), pd.Timestamp(until)) == (
        pd.Timestamp(told["from"]),
        pd.Timestamp(told["to"]),
    )
    inside = table[(table["time"] >= since) & (table["time"] < until)]
    assert inside["time"].tolist() == cut["time"].tolist()
    np.testing.assert_allclose(inside["requests_per_s"], cut["requests_per_s"], rtol=1e-12)


def test_people_get_a_table(config, tmp_path, capsys):
    out = tmp_path / "demand.csv"
    export(config, out, as_json=False)
    text = capsys.readouterr().out
    assert ["workload", "known", "idle", "censored", "unknown"] == text.splitlines()[0].split()
    assert "serving/chat" in text
    assert f"{out}: minutes from " in text.replace("\n", "")


@pytest.mark.parametrize(
    ("expected", "given"),
    [
        ("demand.txt: has no known form; end its name in .parquet or .csv", {"out": "demand.txt"}),
        ("--from: 'yesterday' is no time; write it as 2026-03-01", {"since": "yesterday"}),
        ("--to: '2026-13-01' is no time", {"until": "2026-13-01"}),
        (
            "--from: the first minute is not before the last",
            {"since": "2026-03-02", "until": "2026-03-01T12:00Z"},
        ),
        ("there/demand.csv: cannot be written (", {"out": "not/there/demand.csv"}),
    ],
)
def test_what_cannot_be_used_is_one_line(config, tmp_path, expected, given):
    out = tmp_path / given.get("out", "demand.csv")
    with pytest.raises(InputError) as said:
        export(config, out, given.get("since"), given.get("until"))
    assert expected in str(said.value)


def test_times_without_a_zone_are_utc_and_others_are_what_they_say(config, tmp_path, capsys):
    spans = [("2026-03-01T10:00", "2026-03-01T11:00"), ("2026-03-01T12:00+02:00", "2026-03-01T13:00+02:00")]
    tables = []
    for number, (since, until) in enumerate(spans):
        out = tmp_path / f"{number}.csv"
        export(config, out, since, until)
        tables.append(pd.read_csv(out)["time"].tolist())
    assert tables[0] == tables[1]
    assert "2026-03-01 10:00:00+00:00" == tables[0][0]


def test_only_what_comes_from_prometheus_can_be_kept(config):
    config.write_text(config.read_text() + "history: {path: past}\n")
    with pytest.raises(InputError) as said:
        load(config)
    assert str(said.value).endswith("history: keeps what comes from Prometheus, and metrics.source is file")
