"""What people read of `foreslice replay`, from a trace to the last line."""

from foreslice.proof.replay import run_replay

LOW, HIGH = 1, 2


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
