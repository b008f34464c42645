"""What people read of `foreslice replay`, from a trace to the last line."""

import numpy as np

from foreslice.proof.fleet import read_fleet
from foreslice.proof.replay import run_replay
from foreslice.proof.scene import scene_of
from foreslice.proof.sweep import Asked, followed, run
from foreslice.proof.trace import read_trace

LOW, HIGH = 1, 2
STEP_S = 1800
DAY = 48
DAYS, SCORED = 6, 2
FLEET = """
lags: [30m]
unserved: 0.01
scored: 2d
workloads:
  - {match: "*", model: qwen2.5-3b-bf16, slo: {ttft: {p95: 1s}, itl: {p95: 60ms}}}
"""


def played(folder, last_factor, last_prompt):
    """Replay a workload whose last day may be another than those before."""
    chance = np.random.default_rng(3)
    rows = ["t_s,rate,prompt_tokens,output_tokens"]
    for step in range(DAYS * DAY):
        factor, prompt = (last_factor, last_prompt) if step >= (DAYS - 1) * DAY else (1, 300)
        rate = factor * 40 * (1.5 + np.sin(2 * np.pi * step / DAY)) * chance.uniform(0.7, 1.3)
        rows.append(f"{step * STEP_S},{rate},{prompt},200")
    (folder / "fleet.yaml").write_text(FLEET, encoding="utf-8")
    (folder / "trace.csv").write_text("\n".join(rows), encoding="utf-8")
    fleet = read_fleet(folder / "fleet.yaml")
    scene = scene_of(read_trace(folder / "trace.csv"), fleet.terms(), 1)
    return scene, run(scene, Asked(1800.0, fleet.quiet, fleet.unserved, ()))


def test_nothing_of_a_scored_day_gets_into_what_is_decided_before_it(tmp_path):
    """Shapes, what they carry, forecasts, choices and what they want."""
    (usual, was), (other, now) = played(tmp_path, 1, 300), played(tmp_path, 5, 4000)
    [usual], [other] = usual.parts, other.parts
    assert (usual.piece, usual.whole) == (other.piece, other.whole)
    assert SCORED == len(was.choices)
    assert was.choices == now.choices
    before = was.grid.test + (SCORED - 1) * was.grid.by_day * was.grid.block
    [one], [two] = was.courses, now.courses
    assert two.demand[before] > 3 * one.demand[before]
    np.testing.assert_array_equal(one.ahead[:, :before], two.ahead[:, :before])
    wanted = [followed(course, was.grid, run.choices)[:before] for course, run in ((one, was), (two, now))]
    np.testing.assert_array_equal(*wanted)
    assert now.unserved > was.unserved


def test_a_trace_whose_every_day_is_alike_is_told_to_be_foreseen(capsys, tmp_path):
    trace, fleet = tmp_path / "trace.csv", tmp_path / "fleet.yaml"
    steps = [f"{step * 1800},{HIGH if step % 48 >= 24 else LOW}" for step in range(5 * 48)]
    trace.write_text("\n".join(["t_s,rate", *steps]), encoding="utf-8")
    fleet.write_text(
        "{lags: [30m], unserved: 0.01, scored: 1d, sizes: {least: 2, largest: 2}}", encoding="utf-8"
    )
    run_replay(trace, fleet, "off", 1, None, as_json_only=False)
    said = capsys.readouterr().out
    # Nothing that people read is markup: a trace may be called by what looks like some.
    assert "\nlag 30m: V 0.9" in said
    assert "chosen on what they are scored on: 0." in " ".join(said.split())
    assert "- At 30m a forecast pays: " in said
