"""What docs/examples holds, as a user's installation would have it."""

import importlib.util
import sys
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs/examples"


@cache
def acme():
    """The module of a user, importable by its name from here on, as after the copy into an image."""
    spec = importlib.util.spec_from_file_location("acme_forecasts", FOLDER / "acme_forecasts.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
