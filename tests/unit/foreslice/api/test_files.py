"""Sizes, plans and replays for other programs."""

import pytest

from fleet.errors import InputError
from foreslice import capacity_of, make_plan, run_replay


def test_sizes_have_a_row_a_shape_and_say_what_is_in_the_way():
    sizes = capacity_of("qwen2.5-7b-bf16", "h100-80gb", ttft_p95="1s", itl_p95="50ms").set_index("shape")
    assert "do not fit" in sizes.loc["1g.10gb", "obstacle"]
    assert 0 < sizes.loc["3g.40gb", "requests_per_s_low"] < sizes.loc["3g.40gb", "requests_per_s"]
    assert sizes.loc["3g.40gb", "requests_per_s"] < sizes.loc["whole", "requests_per_s"]
    (one,) = capacity_of("qwen2.5-7b-bf16", "h100-80gb", shape="3g.40gb", ttft_p95="1s")["shape"]
    assert "3g.40gb" == one


def test_what_is_not_known_is_one_line():
    with pytest.raises(InputError, match="no card h100-8gb"):
        capacity_of("qwen2.5-7b-bf16", "h100-8gb", ttft_p95="1s")


def test_an_hour_can_be_replayed():
    hour = run_replay("static whole GPU", hours=0.25)
    assert 0 < hour.gpu_hours < 16
    assert {"time", "workload", "work", "capacity"} == set(hour.minutes.columns)
    assert 8 * 15 == len(hour.minutes)
    with pytest.raises(InputError, match="'ours' is no policy; choose foreslice"):
        run_replay("ours")


def test_a_plan_needs_a_snapshot(tmp_path):
    settings = tmp_path / "settings.yaml"
    settings.write_text("version: v1")
    with pytest.raises(InputError):
        make_plan(tmp_path / "none.json", settings)
