import subprocess
import sys
from pathlib import Path

import pytest

LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")
PACKAGES = ("fleet", "capacity", "predictor", "allocator", "actuator", "simulator", "foreslice")


@pytest.fixture
def verdict(tmp_path, root):
    """A function that says which contracts break when empty packages get a module with these imports."""

    def check(module, imports):
        for package in PACKAGES:
            (tmp_path / package).mkdir()
            (tmp_path / package / "__init__.py").touch()
        (tmp_path / module).write_text(imports)
        command = [LINT_IMPORTS, "--no-cache", "--config", root / "pyproject.toml"]
        answer = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True).stdout
        return {line.removesuffix(" BROKEN") for line in answer.splitlines() if line.endswith(" BROKEN")}

    return check


PURE = "fleet and allocator have no clock, no chance, no input or output and no log"


@pytest.mark.parametrize(
    ("broken", "module", "imports"),
    [
        (set(), "allocator/placing.py", "import capacity, fleet, dataclasses, math"),
        ({"Imports point down"}, "fleet/demand.py", "import capacity"),
        ({"Imports point down"}, "actuator/diff.py", "import allocator"),
        ({"Imports point down"}, "simulator/world.py", "import foreslice"),
        ({PURE}, "fleet/demand.py", "import time"),
        ({PURE}, "allocator/placing.py", "import random"),
        ({PURE}, "allocator/placing.py", "import logging"),
        ({PURE}, "fleet/demand.py", "from pathlib import Path"),
        ({"pydantic reads settings in foreslice and nothing else"}, "actuator/diff.py", "import pydantic"),
    ],
)
def test_contracts_bite(verdict, broken, module, imports):
    assert broken == verdict(module, imports)
