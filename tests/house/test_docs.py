"""What the documentation says is so: links lead somewhere, commands and code run, tables are complete."""

import io
import re
import shlex
from contextlib import redirect_stdout
from itertools import pairwise

import pytest
import yaml
from typer.testing import CliRunner

from foreslice.cli import app
from foreslice.settings.schema import Settings
from foreslice.settings.yaml_file import keys_of
from foreslice.telemetry import Telemetry
from tests.builders.ticking import telling_all
from tests.house.settings_table import rows, table

LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")


@pytest.fixture(scope="module")
def pages(root, tracked):
    """Every Markdown page by its path, but those that only describe data of others."""
    return {path: (root / path).read_text() for path in tracked if path.suffix == ".md"}


def anchors(text):
    """Names by which a forge links to the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def blocks(pages, language):
    """Code blocks in one language with the block that follows each, by page."""
    for path, text in pages.items():
        found = BLOCK.findall(text)
        for (name, code), following in pairwise([*found, ("", "")]):
            if name == language:
                yield path, code, following


def test_every_relative_link_leads_somewhere(root, pages):
    broken = []
    for path, text in pages.items():
        for link in LINK.findall(BLOCK.sub("", text)):
            if "://" in link:
                continue
            name, _, anchor = link.partition("#")
            target = (root / path).parent / name if name else root / path
            if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
                broken.append(f"{path}: {link}")

    assert [] == broken


def test_every_decision_has_a_number_of_its_own_which_its_title_says(pages):
    titles = {path: text for path, text in pages.items() if re.match(r"docs/adr/\d", str(path))}
    numbers = sorted(int(path.name[:4]) for path in titles)
    assert sorted(set(numbers)) == numbers
    assert numbers == sorted(int(text.removeprefix("# ").split(".")[0]) for text in titles.values())


def test_every_test_that_is_named_exists(root, pages):
    named = {match for text in pages.values() for match in NAMED_TEST.findall(text)}

    assert named
    assert [] == [
        f"{path}::{name}"
        for path, name in sorted(named)
        if not (root / path).is_file() or (name and f"def {name}(" not in (root / path).read_text())
    ]


def test_every_metric_is_explained_and_no_other(pages):
    [text] = [text for path, text in pages.items() if path.name == "operate.md"]
    explained = set(re.findall(r"^\| `(foreslice_\w+)` \|", text, re.MULTILINE))
    telemetry = Telemetry()
    telemetry.observe(telling_all())
    # A counter is read under the name of its samples.
    exported = {
        f"{metric.name}_total" if metric.type == "counter" else metric.name
        for metric in telemetry.registry.collect()
    }

    assert exported == explained


def test_the_settings_reference_is_that_of_the_schema(pages):
    [text] = [text for path, text in pages.items() if path.name == "reference.md"]

    assert table() in text, "write what `python -m tests.house.settings_table` prints into docs/reference.md"


def test_the_settings_reference_misses_no_key():
    listed = {part for key, *_ in rows() for part in re.findall(r"\w+", key)}

    assert set() == set(keys_of(Settings)) - listed


def commands_in(text):
    """Commands in a page's plain code blocks and code spans."""
    lines = [line for language, code in BLOCK.findall(text) if not language for line in code.splitlines()]
    spans = re.findall(r"`([^`\n]+)`", BLOCK.sub("", text))
    found = [re.sub(r" *#.*", "", line.removeprefix(".venv/bin/")) for line in (*lines, *spans)]
    return {command for command in found if re.match(r"foreslice [a-z-]", command)}


def is_command(command):
    """Whether the command line knows the commands and options; asked for help, it runs nothing."""
    words = shlex.split(re.sub(r"[\[\]]", "", command).replace("|json", ""))
    return CliRunner().invoke(app, [*words[1:], "--help"]).exit_code == 0


@pytest.mark.parametrize(
    "command", ["foreslice plant", "foreslice run --twice", "foreslice config chek FILE"]
)
def test_what_is_no_command_is_found(command):
    assert not is_command(command)


def test_every_command_is_one(pages):
    commands = set().union(*map(commands_in, pages.values()))

    assert "foreslice run --config FILE [--once] [--listen ADDRESS:PORT] [--output text|json]" in commands
    assert [] == [command for command in sorted(commands) if not is_command(command)]


def test_settings_that_are_shown_can_be_used(pages):
    shown = [code for _, code, _ in blocks(pages, "yaml")]

    assert shown
    for code in shown:
        Settings.model_validate(yaml.safe_load(code))


def test_code_prints_what_the_page_says(pages):
    """The blocks of a page share their names, as they do for a reader."""
    shared = {}
    differs = []
    for path, code, (language, expected) in blocks(pages, "python"):
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, str(path), "exec"), shared.setdefault(path, {}))  # noqa: S102 -- our own pages
        if language == "text" and expected != printed.getvalue():
            differs.append(f"{path} prints\n{printed.getvalue()}")

    assert [] == differs
