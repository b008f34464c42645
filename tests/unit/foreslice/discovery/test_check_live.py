"""`config check --live` says what each match gets, and each fault in one line beside those of the file."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice.cli import app
from foreslice.discovery.prove import prove
from foreslice.settings.check import Proof, report
from foreslice.settings.load import load

DEFAULT = Path(__file__).parents[4] / "config" / "default.yaml"
CHAT = WorkloadKey("default", "chat")
GOOD = Proof(("vllm:request_success_total of vLLM",), ("chat-0", "chat-1"), ())
BAD = Proof((), (), ("no live series", "no pod"))


def said(proof, *, as_json=False):
    return report(DEFAULT, as_json=as_json, prove=lambda settings, folder: {CHAT: proof})


def test_what_is_proved_is_listed():
    lines, is_good = said(GOOD)
    assert is_good
    assert "default/chat: vllm:request_success_total of vLLM: 2 pod(s)" == lines.splitlines()[1]


def test_each_fault_is_a_finding():
    lines, is_good = said(BAD)
    assert not is_good
    assert [
        f"{DEFAULT}: default/chat: no live series",
        f"{DEFAULT}: default/chat: no pod",
    ] == lines.splitlines()


@pytest.mark.parametrize(("proof", "usable"), [(GOOD, True), (BAD, False)])
def test_scripts_get_both(proof, usable):
    lines, _ = said(proof, as_json=True)
    told = json.loads(lines)
    assert (usable, len(proof.faults)) == (told["usable"], len(told["findings"]))
    assert {"default/chat": {"series": list(proof.series), "pods": list(proof.pods)}} == told["live"]


def test_a_file_that_cannot_be_used_is_not_proved(tmp_path):
    path = tmp_path / "none.yaml"
    lines, is_good = report(path, as_json=False, prove=lambda settings, folder: pytest.fail("asked"))
    assert (f"{path}: no such file; name an existing settings file", False) == (lines, is_good)


def test_nothing_is_live_about_simulated_engines():
    with pytest.raises(InputError, match="nothing is live about source embedded; check without --live"):
        prove(load(DEFAULT), DEFAULT.parent)
    ran = CliRunner().invoke(app, ["config", "check", str(DEFAULT), "--live"])
    assert isinstance(ran.exception, InputError)
