"""`foreslice savings` on what a real Prometheus has collected."""

import json

import numpy as np
import pytest

from foreslice.cli import main
from foreslice.clock import WallClock
from tests.builders.scrapes import Scraped
from tests.prometheus.conftest import past

DAYS, DAY_S, MINUTE_S = 5, 86_400, 60
PROMPT, OUTPUT = 1000, 200

SETTINGS = """version: v1
metrics: {source: prometheus, url: "http://127.0.0.1:9"}
cluster: {kind: none, board: h100-80gb}
workloads:
  - name: chat
    namespace: prod
    model: qwen2.5-3b-bf16
    match: {namespace: prod, model_name: chat}
    slo: {ttft: {p95: 1s}, itl: {p95: 60ms}}
  - name: talk
    namespace: prod
    model: qwen2.5-3b-bf16
    match: {namespace: prod, model_name: talk}
    slo: {ttft: {p95: 1s}, itl: {p95: 60ms}}
standby: {slices: 4, host_memory_gib: 500}
"""


def daily(end_s, name):
    """Readings of one engine by minute: thirty times as much is asked at noon as at midnight."""
    times = np.arange(end_s - DAYS * DAY_S - 10 * MINUTE_S, end_s + 1, MINUTE_S)
    rates = 32 - 30 * np.cos(2 * np.pi * times / DAY_S)
    done = np.cumsum(rates * MINUTE_S)
    counted = {
        "vllm:request_success_total": done,
        "vllm:prompt_tokens_total": done * PROMPT,
        "vllm:generation_tokens_total": done * OUTPUT,
        "vllm:time_to_first_token_seconds_count": done,
        "vllm:num_requests_waiting": np.zeros_like(done),
        "vllm:num_requests_running": np.rint(rates / 2),
        "vllm:kv_cache_usage_perc": np.full_like(done, 0.25),
    }
    return past(
        *(
            Scraped(
                f"{name}-0", said, list(zip(times.tolist(), np.floor(values).tolist(), strict=True)), name
            )
            for said, values in counted.items()
        )
    )


def test_what_would_have_been_saved_is_a_range_and_all_of_it_is_read_from_there(
    server_of, tmp_path, monkeypatch, capsys
):
    end_s = int(WallClock().now_s()) // MINUTE_S * MINUTE_S
    url = server_of([*daily(end_s, "chat"), *daily(end_s, "talk")])
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    asked = ["--prometheus", url, "--config", str(tmp_path / "settings.yaml"), "--last", f"{DAYS}d"]
    monkeypatch.setattr("sys.argv", ["foreslice", "savings", *asked, "--output", "json"])
    with pytest.raises(SystemExit) as left:
        main()

    assert 0 == left.value.code
    told = json.loads(capsys.readouterr().out)
    over = told["saved_over"]["static-gpu-trained"]
    assert 0 < over["low"] <= over["share"] <= over["high"] < 1
    assert (1, True) == (told["scored_days"], told["unserved"] < 0.02)
    assert ["prod"] == list(told["standby_pools"])
    assert ["settings.yaml"] == [path.name for path in tmp_path.iterdir() if path.is_file()]
