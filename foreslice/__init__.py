"""The service: everything that runs, from settings to the tick, the replay and the command line.

What is listed here is public and stays; each name is loaded when it is first asked for, so that to import
foreslice costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from predictor.boosting import QuantileBoosting as QuantileBoosting

_HOMES = {
    "QuantileBoosting": "predictor.boosting",
}

__all__ = sorted(_HOMES)  # noqa: PLE0605 -- the names above


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
