"""`foreslice snapshot` and `foreslice plan` as a user would: one file, then plans from it."""

import json
import subprocess
import sys
from pathlib import Path

CONFIG = Path(__file__).parents[2] / "config" / "default.yaml"


def program(*args):
    """The installed program."""
    path = Path(sys.executable).parent / "foreslice"
    return subprocess.run([path, *map(str, args)], capture_output=True, text=True, check=False)


def test_a_snapshot_of_the_embedded_world_is_planned_from_twice_to_the_same_bytes(tmp_path):
    out = tmp_path / "snapshot.json"
    taken = program("snapshot", "--config", CONFIG, "--out", out)
    assert (0, "") == (taken.returncode, taken.stdout)
    assert str(out) in taken.stderr

    plans = [program("plan", "-s", out, "-c", CONFIG, "-o", "json") for _ in range(2)]
    assert [0, 0] == [one.returncode for one in plans]
    assert plans[0].stdout == plans[1].stdout
    report = json.loads(plans[0].stdout)
    assert report["cards"]["least"] <= report["cards"]["target"]
    assert ["default/chat"] == [one["workload"] for one in report["workloads"]]


def test_where_no_cluster_is_named_there_is_nothing_to_take_a_snapshot_of(tmp_path):
    settings = Path(__file__).parents[2] / "config" / "examples" / "file.yaml"
    taken = program("snapshot", "--config", settings, "--out", tmp_path / "snapshot.json")
    assert (3, "foreslice: no cluster is seen to plan for\n") == (taken.returncode, taken.stderr)
    assert not (tmp_path / "snapshot.json").exists()
