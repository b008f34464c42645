"""What moving slices would have saved on recorded demand: a range, read only."""

import re
from pathlib import Path

import numpy as np
import pytest

from fleet.boards import H100_80GB
from fleet.workload import WorkloadKey
from foreslice.cli import main
from foreslice.proof.advice import advice
from foreslice.proof.fleet import Terms
from foreslice.proof.output import Told
from foreslice.proof.savings import UNSERVED, as_json_of, saving, trace_of
from foreslice.proof.scene import scene_of
from foreslice.proof.trail import figures_of, trail_of
from predictor.ports import DemandHistory
from tests.unit.foreslice.proof.test_sweep import played

KEPT = """version: v1
metrics: {source: prometheus, url: "http://127.0.0.1:9"}
cluster: {kind: none, board: h100-80gb}
history: {path: kept}
workloads:
  - name: chat
    namespace: shop
    model: qwen2.5-7b-bf16
    match: {namespace: shop}
    slo: {ttft: {p95: 1s}}
"""

FILE = Path(__file__).parents[4] / "config" / "examples" / "file.yaml"


def history(start_s, rates):
    values = np.asarray(rates, dtype=np.float64)
    tokens = np.full(len(values), 100.0)
    return DemandHistory(WorkloadKey("shop", "chat"), start_s, values, tokens, tokens, values > 1e9)


def test_what_is_saved_over_what_stands_still_has_a_range_around_it():
    one = saving(played(sees=True, rivals=()), "static-gpu-trained")
    assert 0 < one.low <= one.share <= one.high < 1


def test_recorded_minutes_become_a_trace_and_stay_unknown_where_they_are():
    rates = np.full(6 * 1440, 2.0)
    rates[5000] = np.nan
    terms = Terms((H100_80GB,), lambda _: None, 86_400)
    scene = scene_of(trace_of({"shop/chat": history(1_700_000_040, rates)}), terms, 0)
    [part] = scene.parts
    assert ("shop/chat", 60, "measured", 5 * 1440) == (part.name, part.step_s, scene.reading, scene.test)
    assert 1_700_000_040 + 5 * 86_400 == scene.test_s
    np.testing.assert_array_equal(rates, part.work)


@pytest.mark.parametrize(
    ("last", "what"), [("14d", "demand of no workload is known for half"), ("2d", "2d are under 5 days")]
)
def test_too_little_is_one_clear_line(monkeypatch, capsys, last, what):
    monkeypatch.setattr("sys.argv", ["foreslice", "savings", "--config", str(FILE), "--last", last])
    with pytest.raises(SystemExit) as left:
        main()
    assert 2 == left.value.code
    assert what in capsys.readouterr().err


@pytest.mark.parametrize("given", [[], ["--prometheus", "http://127.0.0.1:9"]], ids=["own", "other"])
def test_the_history_that_a_service_keeps_is_not_touched(monkeypatch, tmp_path, given):
    (tmp_path / "settings.yaml").write_text(KEPT)
    asked = ["savings", "--config", str(tmp_path / "settings.yaml"), *given]
    monkeypatch.setattr("sys.argv", ["foreslice", *asked])
    with pytest.raises(SystemExit) as left:
        main()
    assert 3 == left.value.code, "nobody answers there"
    assert ["settings.yaml"] == [path.name for path in tmp_path.iterdir()]


def test_every_key_of_the_json_is_documented():
    run = played(sees=True, rivals=())
    told = Told(run, {"foreslice": figures_of(trail_of(run, "foreslice"), run)})
    figures = as_json_of(told, {name: saving(run, name) for name in ("static-gpu-trained", "off")}, {})
    docs = (Path(__file__).parents[4] / "docs" / "replay.md").read_text()
    section = docs.split("### `foreslice savings --output json`")[1].split("\n##")[0]
    assert {*figures, *figures["saved_over"], *figures["saved_over"]["off"]} <= set(
        re.findall(r"`([a-z_-]+)`", section)
    )
    assert advice([run], UNSERVED) == figures["advice"]
