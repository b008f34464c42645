"""Exit codes and single lines of the command line."""

import json
import sys
from importlib.metadata import version

import pytest
from typer.testing import CliRunner

import foreslice.run  # here, so that a test of two seconds does not pay for it
from fleet.errors import InputError, UnavailableError
from foreslice.cli import app, main

GOOD = """\
version: v1
metrics: {source: embedded}
cluster: {kind: embedded}
workloads:
  - {name: chat, model: qwen2.5-7b-bf16, slo: {ttft: {p95: 1s}}}
"""


@pytest.fixture
def settings(tmp_path):
    def write(text):
        path = tmp_path / "settings.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def foreslice(monkeypatch, capsys):
    """Call the console script's function; return exit code, standard output and error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["foreslice", *map(str, arguments)])
        try:
            main()
        except SystemExit as left:
            code = left.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def test_help_names_the_commands():
    result = CliRunner().invoke(app, ["--help"])

    assert 0 == result.exit_code
    assert {"run", "demo", "config"} <= set(result.stdout.split())


def test_the_settings_file_may_be_named_once_for_all_commands(foreslice, settings, monkeypatch):
    monkeypatch.setenv("FORESLICE_CONFIG", str(settings(GOOD).with_name("none.yaml")))
    code, _, error = foreslice("run", "--once")
    assert (2, True) == (
        code,
        error.startswith(f"foreslice: {settings(GOOD).with_name('none.yaml')}: no such"),
    )


def test_version_is_that_of_the_distribution(foreslice):
    assert (0, f"foreslice {version('foreslice')}\n", "") == foreslice("--version")


def test_an_unknown_command_is_wrong_use():
    result = CliRunner().invoke(app, ["nonsense"])

    assert 2 == result.exit_code
    assert "No such command 'nonsense'" in result.stderr


def test_config_check_says_that_a_good_file_can_be_used(foreslice, settings):
    path = settings(GOOD)

    assert (0, f"{path}: can be used: 1 workload(s)\n", "") == foreslice("config", "check", path)


def test_config_check_writes_findings_to_standard_error_and_leaves_with_2(foreslice, settings):
    path = settings(GOOD.replace("1s", "500s").replace("v1", "v2"))

    expected = (
        f"{path}:1: version: must be 'v1' (is 'v2')\n{path}:5: workloads[0].slo.ttft.p95:"
        " expected between 10ms and 120s; is the unit right? (is '500s')\n"
    )
    assert (2, "", expected) == foreslice("config", "check", path)


def test_config_check_as_json_goes_to_standard_output_whatever_is_found(foreslice, settings):
    path = settings(GOOD.replace("v1", "v2"))
    code, out, err = foreslice("config", "check", path, "--output", "json")

    assert (2, "") == (code, err)
    assert {
        "file": str(path),
        "usable": False,
        "findings": [f"{path}:1: version: must be 'v1' (is 'v2')"],
    } == json.loads(out)


def test_config_schema_prints_json(foreslice):
    code, out, _ = foreslice("config", "schema")

    assert 0 == code
    assert "The operator's file." == json.loads(out)["description"]


def test_run_refuses_bad_settings_with_every_finding_on_its_line(foreslice, settings):
    path = settings(GOOD.replace("v1", "v2").replace("chat", "A"))
    code, out, err = foreslice("run", "--once", "--config", path)

    assert (2, "") == (code, out)
    assert [f"foreslice: {path}:1", f"foreslice: {path}:5"] == [
        ":".join(line.split(":")[:3]) for line in err.splitlines()
    ]


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InputError("is bad", where="x.yaml", fix="mend it"), 2, "foreslice: x.yaml: is bad; mend it\n"),
        (UnavailableError("prometheus does not answer"), 3, "foreslice: prometheus does not answer\n"),
        (
            ValueError("that was unexpected"),
            1,
            "foreslice: bug in foreslice: test_cli.py:{line}: ValueError: that was unexpected\n",
        ),
    ],
    ids=["input", "unavailable", "bug"],
)
def test_an_error_is_one_line_and_an_exit_code_and_never_a_traceback(error, code, line, foreslice):
    name = f"raise-{code}"
    app.command(name, hidden=True)(raising(error))
    try:
        expected = line.format(line=raising(error).__code__.co_firstlineno + 1)
        assert (code, "", expected) == foreslice(name)
    finally:
        app.registered_commands.pop()


def test_the_keyboard_stops_it_with_130(foreslice):
    app.command("interrupted", hidden=True)(raising(KeyboardInterrupt()))
    try:
        code, out, _ = foreslice("interrupted")
    finally:
        app.registered_commands.pop()

    assert (130, "") == (code, out)


def test_models_of_an_empty_store_are_none_and_sound(foreslice, tmp_path):
    assert (0, f"no models in {tmp_path}\n", "") == foreslice("models", "list", "--store", tmp_path)
    assert 0 == foreslice("models", "verify", "--store", tmp_path)[0]


def test_models_verify_leaves_with_2_where_any_is_unsound(foreslice, tmp_path):
    (tmp_path / "global" / "0123456789ab").mkdir(parents=True)

    code, out, err = foreslice("models", "verify", "--store", tmp_path)

    assert (2, "") == (code, err)
    assert "global/0123456789ab: manifest.json is missing; it is not used; what serves stays\n" == out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("promote", "global/../x"), "global/../x: is no version; `foreslice models list` names them all"),
        (("promote", "GLOBAL/1"), "'GLOBAL': is no name of a model; use lower-case letters, digits and '-'"),
        (("rollback", "global"), "model global: nothing serves; there is nothing to take back"),
        (("show", "global"), "model global: no version serves; name a version: NAME/VERSION"),
    ],
)
def test_what_cannot_be_done_with_models_is_one_line(foreslice, tmp_path, arguments, line):
    assert (2, "", f"foreslice: {line}\n") == foreslice("models", *arguments, "--store", tmp_path)
