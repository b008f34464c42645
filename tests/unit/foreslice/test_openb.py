"""`foreslice bench openb` as a person calls it."""

import json

import pytest
from typer.testing import CliRunner

from foreslice.cli import app
from foreslice.openb import summary
from simulator.openb.protocol import Outcome

HOSTS = "cpu_milli,memory_mib,gpu,model\n24000,100000,2,G2\n24000,100000,2,G2\n"
PODS = "cpu_milli,memory_mib,num_gpu,gpu_milli\n6000,10,1,1000\n3000,10,1,500\n8000,10,1,300\n"


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "nodes.csv").write_text(HOSTS, encoding="utf-8")
    (tmp_path / "pods.csv").write_text(PODS, encoding="utf-8")

    def call(*more):
        return CliRunner().invoke(
            app,
            ["bench", "openb", "--nodes", f"{tmp_path}/nodes.csv", "--pods", f"{tmp_path}/pods.csv", *more],
        )

    return call


@pytest.mark.parametrize("variant", ["fill", "churn"])
def test_json_has_every_rule_with_its_range_over_seeds(bench, variant):
    result = json.loads(bench("--seeds", "2", "--variant", variant, "--output", "json").stdout)

    assert (variant, 4, 3, [42, 43]) == tuple(result[k] for k in ("variant", "gpus", "pods", "seeds"))
    assert ["random", "best fit", "FGD", "foreslice"] == list(result["rules"])
    for row in result["rules"].values():
        assert row["allocated_pct_min"] <= row["allocated_pct"] <= row["allocated_pct_max"] <= 100


def test_the_table_names_rules_and_figures(bench):
    shown = bench("--seeds", "1").stdout

    assert "4 GPUs, 3 pods in the list, 1 seeds" in shown
    assert all(name in shown for name in ("random", "best fit", "FGD", "foreslice", "GPU allocated"))


def test_a_summary_is_mean_and_range_over_seeds():
    assert {
        "allocated_pct": 95.5,
        "allocated_pct_min": 95.0,
        "allocated_pct_max": 96.0,
        "allocated_at_100_pct": 91.0,
        "refused_pct": 25.0,
    } == summary([Outcome(95.0, 90.0, 20.0), Outcome(96.0, 92.0, 30.0)])


def test_with_pods_that_leave_there_is_no_moment_of_100_percent():
    assert summary([Outcome(95.0, None, 20.0)])["allocated_at_100_pct"] is None
