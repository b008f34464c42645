"""The control plane itself: what it emulates, and that it leaves nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.conftest import NEWEST
from tests.cluster.controlplane import control_plane
from tests.cluster.lab import until
from tests.cluster.part import NotStartedError

PARTS = {"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok"}
ROOT = Path(__file__).parents[2]
RUN = """
import os, sys, time
from pathlib import Path
from tests.cluster.conftest import NEWEST
from tests.cluster.controlplane import control_plane
with control_plane("1.37", Path(sys.argv[1])) as plane:
    print(*(part.pid for part in plane.parts.values()), flush=True)
    time.sleep(600)
"""


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_it_says_which_minor_it_emulates(plane, server):
    version = server.request("GET", "/version")
    assert plane.minor == f"{version['emulationMajor']}.{version['emulationMinor']}"
    assert version["gitVersion"].startswith(f"v{NEWEST}.")


def test_every_part_is_alive_and_has_a_log(plane):
    assert PARTS == plane.parts.keys()
    assert [True] * len(PARTS) == [is_alive(part.pid) for part in plane.parts.values()]
    assert {f"{part}.log" for part in PARTS} == {log.name for log in plane.logs.glob("*.log")}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_no_process_is_left_however_a_run_ends(tmp_path, how):
    run = subprocess.Popen([sys.executable, "-c", RUN, tmp_path], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        with run.stdout as said:
            pids = [int(pid) for pid in said.readline().split()]
        assert len(PARTS) == len(pids)
        os.kill(run.pid, how)
    finally:
        run.kill()
        run.wait()
    until(lambda: not any(map(is_alive, pids)))


def test_a_part_that_cannot_start_is_told_with_the_end_of_its_log(tmp_path):
    before = _own_children()
    with (
        pytest.raises(NotStartedError, match=r"kube-apiserver\.log ends with(.|\n)*9\.99"),
        control_plane("9.99", tmp_path),
    ):
        pass
    assert before == _own_children()


def _own_children():
    tasks = Path("/proc/self/task").glob("*/children")
    return {int(pid) for task in tasks for pid in task.read_text().split()}
