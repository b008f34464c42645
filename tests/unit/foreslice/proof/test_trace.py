"""Traces of rates and of single requests, and fleets, as files say them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fleet.errors import InputError
from foreslice.proof.fleet import read_fleet
from foreslice.proof.scene import scene_of
from foreslice.proof.trace import read_trace


def written(tmp_path, text, name="trace.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_rates_are_read_by_workload_and_a_missing_step_is_unknown(tmp_path):
    trace = read_trace(
        written(tmp_path, "t_s,workload,rate\n0,a,1\n60,a,2\n120,a,3\n240,a,4\n0,b,5\n60,b,6\n")
    )
    assert {"a", "b"} == trace.rates.keys()
    np.testing.assert_array_equal([1, 2, 3, np.nan, 4], trace.rates["a"].series.values)
    assert {} == trace.tokens


def test_requests_are_counted_by_minute_and_a_minute_without_any_is_zero(tmp_path):
    rows = ["timestamp,prompt_tokens,output_tokens"]
    rows += [f"2026-01-01T00:00:{second:02d}Z,100,{10 * second}" for second in (0, 30)]
    rows += ["2026-01-01T00:02:10Z,400,40"]
    trace = read_trace(written(tmp_path, "\n".join(rows)))
    np.testing.assert_allclose([2 / 60, 0, 1 / 60], trace.rates["all"].series.values)
    prompt, output = trace.tokens["all"]
    np.testing.assert_allclose([100, 100, 400], prompt.series.values)
    np.testing.assert_allclose([150, 150, 40], output.series.values)


def test_a_trace_without_a_time_is_refused_with_its_columns(tmp_path):
    with pytest.raises(InputError, match=r"no column timestamp.*there are day, rate"):
        read_trace(written(tmp_path, "day,rate\n1,2\n"))


@pytest.mark.parametrize("value", ["-5", "many"])
def test_tokens_of_a_request_that_are_no_demand_are_named_with_their_row(tmp_path, value):
    rows = ["timestamp,prompt_tokens,output_tokens", "0,100,10", "1,100,10", f"70,{value},10"]
    with pytest.raises(InputError, match=rf"prompt_tokens '{value}(\.0)?' in row 3 is no demand"):
        read_trace(written(tmp_path, "\n".join(rows)))


def test_times_of_other_zones_and_rows_in_any_order_are_the_same_trace(tmp_path):
    rows = [f"2026-01-01T0{hour}:{minute:02d}:00Z,{minute}" for hour in (1, 2) for minute in range(60)]
    moved = [row.replace("T02", "T04").replace("T01", "T03").replace("Z", "+02:00") for row in rows[::-1]]
    first, second = (
        read_trace(written(tmp_path, "\n".join(["timestamp,rate", *each]))).rates["all"].series
        for each in (rows, moved)
    )
    assert first.start_s == second.start_s
    np.testing.assert_array_equal(first.values, second.values)


def test_two_rows_of_a_time_are_named_with_the_way_out(tmp_path):
    with pytest.raises(InputError, match=r"2 rows with a time that is there already; sum them up first"):
        read_trace(written(tmp_path, "t_s,rate\n0,1\n0,1\n60,1\n60,2\n120,3\n"))


def test_parquet_is_read_as_csv_is(tmp_path):
    table = pd.DataFrame(
        {"timestamp": [0.0, 10.0, 130.0], "prompt_tokens": [1, 3, 5], "output_tokens": [2, 2, 2]}
    )
    table.to_csv(tmp_path / "trace.csv", index=False)
    # As whoever sorts rows leaves them: each keeps the number that it had.
    table.set_index(pd.Index([2, 0, 1])).to_parquet(tmp_path / "trace.parquet")
    csv, parquet = (read_trace(tmp_path / f"trace.{form}") for form in ("csv", "parquet"))
    np.testing.assert_array_equal(csv.rates["all"].series.values, parquet.rates["all"].series.values)
    for ours, theirs in zip(csv.tokens["all"], parquet.tokens["all"], strict=True):
        np.testing.assert_array_equal(ours.series.values, theirs.series.values)


SHIPPED = Path(__file__).parents[4] / "config" / "replay"

FLEET = "lags: [300s]\nunserved: 0.01\nscored: 3d\n"


def test_the_first_match_says_what_serves_a_workload(tmp_path):
    served = """workloads:
  - {match: "a/*", model: qwen2.5-3b-bf16, slo: {itl: {p95: 60ms}}}
  - {match: "*7", model: qwen2.5-7b-bf16, slo: {itl: {p95: 60ms}}}
"""
    fleet = read_fleet(written(tmp_path, FLEET + served, "fleet.yaml"))
    assert ("qwen2.5-3b-bf16", "qwen2.5-7b-bf16") == (fleet.workload("a/7").model, fleet.workload("b7").model)
    assert fleet.workload("b8") is None


def test_whoever_is_kept_to_a_kind_of_card_runs_on_it_though_another_carries_more(tmp_path):
    served = """boards: [h100-80gb, l40s-48gb]
workloads:
  - {match: "a", model: qwen2.5-3b-bf16, slo: {itl: {p95: 60ms}}, boards: [l40s-48gb]}
  - {match: "b", model: qwen2.5-3b-bf16, slo: {itl: {p95: 60ms}}}
"""
    fleet = read_fleet(written(tmp_path, FLEET + served, "fleet.yaml"))
    rows = [f"{600 * step},{name},1" for name in "ab" for step in range(8 * 144)]
    trace = read_trace(written(tmp_path, "\n".join(["t_s,workload,rate", *rows])))
    kept, free = scene_of(trace, fleet.terms(), 1).parts
    assert {"l40s-48gb:whole"} == {kept.piece.shape, kept.whole.shape}
    assert "h100-80gb:whole" == free.whole.shape
    assert kept.whole.work < free.whole.work
    np.testing.assert_array_equal(kept.work, free.work)  # in replicas of the fleet's largest card, both


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ({"a": [1.0] * 6 + [0.0] * 2}, "no work was asked for on the days that are scored"),
        ({"a": [0.0] * 6 + [1.0] * 2}, "no work was asked for on the days before what is scored"),
        ({"a": [1.0] * 8, "b": [0.0] * 8}, "workload b never has any work; take its rows out"),
    ],
)
def test_who_asks_for_nothing_is_one_clear_line(tmp_path, rates, said):
    rows = [
        f"{600 * step},{name},{days[step // 144]}" for name, days in rates.items() for step in range(8 * 144)
    ]
    trace = read_trace(written(tmp_path, "\n".join(["t_s,workload,rate", *rows])))
    fleet = read_fleet(written(tmp_path, "lags: [600s]\nunserved: 0.01\nscored: 2d\n" + SIZES, "fleet.yaml"))
    with pytest.raises(InputError, match=said):
        scene_of(trace, fleet.terms(), 1)


def test_who_has_work_for_less_than_a_thousandth_of_the_time_is_sized_by_its_highest(tmp_path):
    rows = [f"{600 * step},a,{5.0 if step == 100 else 0.0}" for step in range(7 * 144)]
    rows.append(f"{600 * 7 * 144},a,5.0")
    rows += [f"{600 * step},a,0.0" for step in range(7 * 144 + 1, 30 * 144)]
    trace = read_trace(written(tmp_path, "\n".join(["t_s,workload,rate", *rows])))
    fleet = read_fleet(written(tmp_path, "lags: [600s]\nunserved: 0.01\nscored: 24d\n" + SIZES, "fleet.yaml"))
    [part] = scene_of(trace, fleet.terms(), 1).parts
    assert 8.0 == pytest.approx(part.work.max())


SIZES = "sizes: {least: 8, largest: 8}\n"


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_fleet_files_can_be_used(path):
    assert read_fleet(path).lags


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("lag: 5m", r"fleet.yaml:4: lag: unknown key"),
        ("boards: [h100]", r"fleet.yaml:4: boards\[0\]: must be one of"),
        ("sizes: {least: 4, largest: 1}", r"least \(4\) is above largest \(1\)"),
        ("reading: smooth", r"must be 'jump' or 'glide'"),
        (
            "workloads: [{model: qwen2.5-3b-bf16, slo: {itl: {p95: 60ms}}, boards: [l40s-48gb]}]",
            r"\* is kept to l40s-48gb, of which the fleet has none",
        ),
    ],
)
def test_what_is_wrong_in_a_fleet_file_is_named_with_its_line(tmp_path, line, what):
    with pytest.raises(InputError, match=what):
        read_fleet(written(tmp_path, FLEET + line, "fleet.yaml"))


def test_a_card_that_is_none_is_one_line(tmp_path):
    with pytest.raises(InputError) as refused:
        read_fleet(written(tmp_path, f"{FLEET}boards: [z99]", "fleet.yaml"))
    assert 1 == len(str(refused.value).splitlines())
