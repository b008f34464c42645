import subprocess
import sys
import zipfile
from pathlib import PurePosixPath

import pytest

INPUTS = {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "config", "models"}


@pytest.fixture
def source(copied, project):
    """A tree of just what the wheel is built from, without git and without an sdist."""
    return copied(INPUTS | set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]))


@pytest.fixture
def shipped(source, tmp_path):
    """Paths in the wheel built from a checkout whose working folders are in use."""
    (source / "models" / "store").mkdir()
    (source / "models" / "store" / "trained.bin").write_bytes(b"private")
    (source / "fleet" / "__pycache__").mkdir()
    (source / "fleet" / "__pycache__" / "demand.pyc").write_bytes(b"stale")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=source, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("foreslice-*-py3-none-any.whl")
    return {PurePosixPath(name) for name in zipfile.ZipFile(wheel).namelist()}


def test_wheel_holds_the_packages_their_data_and_nothing_else(root, project, tracked, shipped):
    packages = set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])
    code = {PurePosixPath(path) for path in tracked if path.parts[0] in packages}
    data = {
        PurePosixPath("foreslice/data", path) for path in tracked if path.parts[0] in {"config", "models"}
    }
    about = {
        path for path in shipped if path.parts[0] == f"foreslice-{project['project']['version']}.dist-info"
    }

    assert code | data == shipped - about


def test_wheel_says_how_it_may_be_used(shipped):
    assert {"LICENSE", "NOTICE"} == {path.name for path in shipped if path.parent.name == "licenses"}


def test_packages_hold_python_their_marker_and_a_data_folder(shipped):
    strays = {
        str(path)
        for path in shipped
        if path.suffix != ".py" and path.name != "py.typed" and "data" not in path.parts[1:-1]
    }

    assert set() == {stray for stray in strays if ".dist-info/" not in stray}


def test_every_package_is_typed(project, shipped):
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

    assert {PurePosixPath(package, "py.typed") for package in packages} <= shipped
