import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def root():
    """The checkout."""
    return Path(__file__).parents[2]


@pytest.fixture(scope="session")
def project(root):
    """pyproject.toml, read."""
    return tomllib.loads((root / "pyproject.toml").read_text())


@pytest.fixture(scope="session")
def tracked(root):
    """Paths of the files that git would take along, relative to the checkout."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=root, check=True, capture_output=True, text=True).stdout
    return [Path(name) for name in names.split("\0") if name and (root / name).is_file()]


@pytest.fixture
def copied(root, tracked, tmp_path):
    """A function that copies the tracked files under the given names to a new folder."""

    def copy(names):
        for path in tracked:
            if path.parts[0] in names:
                target = tmp_path / "copy" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(root / path, target)
        return tmp_path / "copy"

    return copy
