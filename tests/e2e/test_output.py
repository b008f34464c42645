"""Output that nobody takes: full, hung up, or closed from the start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FORESLICE = Path(sys.executable).with_name("foreslice")
COMMANDS = [
    ["config", "schema"],
    ["run", "--once", "--output", "json", "--config", ROOT / "config" / "examples" / "file.yaml"],
    ["inventory", "--objects", ROOT / "tests" / "data" / "cases" / "K09-kai-queues" / "queues.yaml"],
]


def printing_to(stdout, command):
    done = subprocess.run(
        [FORESLICE, *command], stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=30, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=["config", "run", "inventory"])
def test_a_full_disk_is_one_line_and_exit_code_2(command):
    with Path("/dev/full").open("w") as full:
        assert (
            2,
            "foreslice: output cannot be written (No space left on device); make room for it\n",
        ) == printing_to(full, command)


@pytest.mark.parametrize("command", COMMANDS, ids=["config", "run", "inventory"])
def test_who_is_not_read_any_more_leaves_quietly_with_141(command):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        assert (141, "") == printing_to(writer, command)
    finally:
        os.close(writer)


def test_the_service_goes_on_when_nobody_reads_its_ticks(tmp_path):
    settings = (ROOT / "config" / "examples" / "file.yaml").read_text(encoding="utf-8")
    path = tmp_path / "settings.yaml"
    text = settings.replace("../..", str(ROOT)) + "http: {port: 0}\nloop: {tick: 1s}\n"
    path.write_text(text, encoding="utf-8")
    reader, writer = os.pipe()
    os.close(reader)
    command = [FORESLICE, "run", "--output", "json", "--config", path]
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, text=True) as service:
        os.close(writer)
        told = next(line for line in service.stderr if "not printed" in line)
        service.terminate()
        rest = service.stderr.read()

    assert "Broken pipe" in told
    assert (True, 0) == ('"event": "stopped"' in rest, service.returncode)


def test_a_closed_output_is_nothing_to_complain_about():
    closed = subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" config schema >&-', FORESLICE],
        capture_output=True,
        timeout=30,
        check=False,
    )

    assert (0, b"") == (closed.returncode, closed.stderr)
