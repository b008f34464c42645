"""The service: everything that runs, from settings to the tick, the replay and the command line.

What is listed in `__all__` is public and stays (docs/reference.md). Each name is loaded when it is first
asked for, so that to import foreslice costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleet.demand import PeakForecast
    from fleet.errors import InputError, RefusedError, UnavailableError
    from fleet.workload import WorkloadKey
    from foreslice.api.capacity import capacity_of
    from foreslice.api.demand import read_demand
    from foreslice.api.forecaster import Forecaster
    from foreslice.api.models import backtest, promote, read_recipe, rollback, train
    from foreslice.api.plan import make_plan
    from foreslice.api.replay import run_replay
    from foreslice.api.tuning import tune
    from predictor.boosting import QuantileBoosting
    from predictor.ports import Forecaster as PeakForecaster
    from predictor.ports import WorkSeries

__all__ = [
    "Forecaster",
    "InputError",
    "PeakForecast",
    "PeakForecaster",
    "QuantileBoosting",
    "RefusedError",
    "UnavailableError",
    "WorkSeries",
    "WorkloadKey",
    "backtest",
    "capacity_of",
    "make_plan",
    "promote",
    "read_demand",
    "read_recipe",
    "rollback",
    "run_replay",
    "train",
    "tune",
]

_HOMES = {
    "fleet.demand": ("PeakForecast",),
    "fleet.errors": ("InputError", "RefusedError", "UnavailableError"),
    "fleet.workload": ("WorkloadKey",),
    "foreslice.api.capacity": ("capacity_of",),
    "foreslice.api.demand": ("read_demand",),
    "foreslice.api.forecaster": ("Forecaster",),
    "foreslice.api.models": ("backtest", "promote", "read_recipe", "rollback", "train"),
    "foreslice.api.plan": ("make_plan",),
    "foreslice.api.replay": ("run_replay",),
    "foreslice.api.tuning": ("tune",),
    "predictor.boosting": ("QuantileBoosting",),
    "predictor.ports": ("WorkSeries",),
}


def __getattr__(name: str) -> object:
    if name == "PeakForecaster":  # the one that has another name where it lives
        return import_module("predictor.ports").Forecaster
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
