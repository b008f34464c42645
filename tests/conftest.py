"""What every test gets without asking: a time limit, and examples that can be repeated."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

UNIT = Path(__file__).parent / "unit"
UNIT_LIMIT_S = 10
"""A unit test takes two seconds at most; a machine that has other work as well takes longer."""

# A shared machine's hiccup is no finding, and a build that is repeated should see the same examples.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")


def pytest_collection_modifyitems(items):
    """Limit every unit test; other tests keep the limit of pyproject.toml."""
    for item in items:
        if UNIT in item.path.parents:
            item.add_marker(pytest.mark.timeout(UNIT_LIMIT_S, func_only=True))
