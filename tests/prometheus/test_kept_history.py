"""What is kept of a real Prometheus: a restart asks for the newest minutes only, and damage is mended."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from foreslice.clock import WallClock
from tests.prometheus.test_history import queries
from tests.prometheus.test_service import steady_hours

FORESLICE = Path(sys.executable).with_name("foreslice")
CLOCK = WallClock()


@pytest.fixture
def config(tmp_path, server_of):
    """Settings on a Prometheus that has collected thirty hours, with its past kept beside them."""
    url = server_of(steady_hours(30, CLOCK.now_s()))
    path = tmp_path / "settings.yaml"
    path.write_text(
        f"""\
version: v1
metrics: {{source: prometheus, url: "{url}", timeout: 5s}}
loop: {{history: 1d}}
history: {{path: past}}
workloads:
  - {{name: chat, namespace: prod, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}}}}
"""
    )
    return path, url


def exported(config, out):
    """What the command says, and the table that it leaves."""
    command = [FORESLICE, "history", "export", "--config", config, "--out", out, "--output", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == ran.returncode, ran.stderr
    return json.loads(ran.stdout), pd.read_parquet(out)


def test_a_restart_reads_the_past_from_disk_and_only_the_newest_minutes_anew(config, tmp_path):
    path, url = config
    out = tmp_path / "demand.parquet"
    told, first = exported(path, out)
    asked_first = queries(url)
    assert 1440 == len(first)
    assert 0 == told["minutes"]["prod/chat"]["unknown"] == first["requests_per_s"].isna().sum()
    assert [2.0] * 1439 == first["requests_per_s"].round(9).tolist()[:1439]

    _, second = exported(path, out)
    asked_second = queries(url) - asked_first
    assert asked_second < asked_first / 2
    both = first.merge(second, on="time")
    assert 1438 <= len(both)
    assert both["requests_per_s_x"].round(9).equals(both["requests_per_s_y"].round(9))


def test_damaged_files_are_read_from_prometheus_again(config, tmp_path):
    path, _ = config
    out = tmp_path / "demand.parquet"
    _, first = exported(path, out)
    kept = sorted((tmp_path / "past").iterdir())
    assert 2 == len(kept)
    kept[0].write_bytes(kept[0].read_bytes()[:-50])
    kept[1].write_text("not ours")
    told, second = exported(path, out)
    assert 0 == told["minutes"]["prod/chat"]["unknown"]
    assert len(first) == len(second)


def test_a_service_that_starts_again_forecasts_the_same_from_fewer_queries(config):
    path, url = config
    command = [FORESLICE, "run", "--once", "--config", path, "--output", "json"]
    asked, needs = [queries(url)], []
    for _ in range(2):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert 0 == ran.returncode, ran.stderr
        told = json.loads(ran.stdout)
        assert [] == told["conditions"]
        needs.append(told["workloads"][0]["need"]["up"])
        asked.append(queries(url))
    assert needs[0] == pytest.approx(needs[1], rel=0.05)
    assert asked[2] - asked[1] < (asked[1] - asked[0]) / 2
