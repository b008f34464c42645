"""What `from foreslice import ...` promises: names, examples that run, and an import that costs nothing."""

import doctest
import re
import subprocess
import sys

import pytest

import foreslice

HEAVY = ("pandas", "sklearn", "plotly", "pydantic", "kubernetes")


@pytest.mark.parametrize("name", foreslice.__all__)
def test_every_public_name_is_there_and_says_what_it_is_for(name):
    assert getattr(foreslice, name).__doc__


def test_another_name_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = foreslice.nothing


def test_every_public_name_is_listed_as_stable_and_no_other(root):
    text = (root / "docs/reference.md").read_text()
    section = text.partition("\n## Python\n")[2].partition("\n## ")[0]
    assert set(foreslice.__all__) == set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))


def examples():
    finder = doctest.DocTestFinder()
    for name in foreslice.__all__:
        yield from (one for one in finder.find(getattr(foreslice, name), name) if one.examples)


@pytest.mark.parametrize("example", [*examples()], ids=lambda one: one.name)
def test_examples_print_what_they_say(example):
    assert 0 == doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(example).failed


@pytest.mark.parametrize("module", ["foreslice", "foreslice.cli"])
def test_to_import_it_loads_nothing_heavy(root, module):
    """Commands import what they need, and public names what they are."""
    code = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, check=True, capture_output=True, text=True)
    assert [] == [name for name in HEAVY if name in done.stdout.split()]
