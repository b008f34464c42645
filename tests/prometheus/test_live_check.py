"""`config check --live` without a cluster: series alone are proved, and a server that is gone is said."""

import json
import subprocess
import sys
from pathlib import Path

from foreslice.clock import WallClock
from tests.ports import free_port
from tests.prometheus.test_service import steady_hours

FORESLICE = Path(sys.executable).with_name("foreslice")


def checked(path, url, *options):
    path.write_text(
        f"""\
version: v1
metrics: {{source: prometheus, url: "{url}", timeout: 5s}}
workloads:
  - {{name: chat, namespace: prod, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}}}}
  - {{name: talk, namespace: prod, model: qwen2.5-7b-bf16, slo: {{ttft: {{p95: 1s}}}}}}
"""
    )
    command = [FORESLICE, "config", "check", path, "--live", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_match_is_proved_by_its_series(server_of, tmp_path):
    ran = checked(
        tmp_path / "settings.yaml", server_of(steady_hours(1, WallClock().now_s())), "--output", "json"
    )
    told = json.loads(ran.stdout)
    assert 2 == ran.returncode
    assert {"series": ["vllm:request_success_total of vLLM"], "pods": ["chat-0"]} == told["live"]["prod/chat"]
    [finding] = told["findings"]
    assert finding.endswith(
        "prod/talk: no live series of a known engine carries namespace=prod, model_name=talk"
    )


def test_a_prometheus_that_is_gone_is_another_exit_code(tmp_path):
    url = f"http://127.0.0.1:{free_port()}"
    ran = checked(tmp_path / "settings.yaml", url)
    assert (3, "", 1) == (ran.returncode, ran.stdout, ran.stderr.count("\n"))
    assert f"{url}: cannot be reached" in ran.stderr
