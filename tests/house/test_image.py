import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HADOLINT = Path(sys.executable).with_name("hadolint")


def instructions(dockerfile, stage):
    """The instructions of one stage as (name, arguments), continued lines joined."""
    joined = dockerfile.replace("\\\n", " ")
    stages = re.split(r"^FROM .*$", joined, flags=re.MULTILINE)[1:]
    return re.findall(r"^([A-Z]+) (.*)$", stages[stage], re.MULTILINE)


@pytest.fixture(scope="module")
def dockerfile(root):
    return (root / "Dockerfile").read_text()


def test_hadolint_finds_nothing(root):
    files = [root / "Dockerfile", root / "docs/examples/Dockerfile"]
    found = subprocess.run([HADOLINT, *files], check=False, capture_output=True, text=True)

    assert (0, "") == (found.returncode, found.stdout)


def test_service_runs_as_nobody_and_starts_without_a_shell(dockerfile):
    final = instructions(dockerfile, -1)

    assert ("USER", "65532:65532") in final
    assert ("ENTRYPOINT", '["foreslice"]') in final
    assert "RUN" not in {name for name, _ in final}


def check_a_users_module(examples, built):
    """What docs/examples/Dockerfile copies is where recipes find it, once the settings allow it."""
    [(_, copied)] = [
        line for line in instructions((examples / "Dockerfile").read_text(), 0) if line[0] == "COPY"
    ]
    module, site = copied.split()
    packages = built / site.removeprefix("/")
    here = next(packages.parents[1].glob("python*")) / packages.name  # of the Python that runs the tests
    shutil.copy(examples / module, here)
    checked = subprocess.run(
        [
            built / "opt/foreslice/bin/foreslice",
            "recipe",
            "check",
            "linear.yaml",
            "--config",
            "settings.yaml",
        ],
        cwd=examples,
        env={"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
        capture_output=True,
        text=True,
    )
    assert "linear.yaml: can be used: makes a model\n" == checked.stdout


@pytest.mark.timeout(600)
def test_install_lines_make_an_environment_that_runs(root, dockerfile, copied, tmp_path):
    """The build stage's own lines, with another root and the files that .dockerignore lets through."""
    allowed = (root / ".dockerignore").read_text().splitlines()
    source = copied({line.removeprefix("!") for line in allowed if line.startswith("!")})
    for name, line in instructions(dockerfile, 0):
        if name == "RUN":
            here = line.replace("/opt/", f"{tmp_path}/opt/").replace("python -m", f"{sys.executable} -m")
            subprocess.run(["/bin/sh", "-euc", here], cwd=source, check=True, capture_output=True)

    answer = subprocess.run(
        [tmp_path / "opt/foreslice/bin/foreslice", "--version"],
        cwd=tmp_path,
        env={"HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"},
        check=True,
        capture_output=True,
        text=True,
    )

    assert "foreslice 0.1.0\n" == answer.stdout
    check_a_users_module(root / "docs/examples", tmp_path)
    assert not list((tmp_path / "opt/foreslice").glob("lib/python*/site-packages/pip"))
