"""From a recipe's file to what the predictor learns by; classes are imported only with leave."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from importlib import import_module
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np

from fleet.demand import QUANTILES, WINDOWS_S
from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice.settings.durations import written
from foreslice.settings.recipe import FIRST, ForecasterRecipe, ModelRecipe
from foreslice.settings.yaml_file import YamlFile
from predictor.features import Target
from predictor.forecasters.learned import LEARNED
from predictor.recipe import Calibration, Estimator, Guest, Question, Recipe, Recipes

_EXAMPLE = "models/recipes/own.yaml"

SHIPPED = ("own", "shared", "pooled")
"""Names of the recipes in `models/recipes`."""


def shipped_path(name: str) -> Path:
    """Return where the shipped recipe of this name is."""
    folder = files("foreslice").joinpath("data", "models")  # in a wheel; in a checkout:
    folder = folder if folder.is_dir() else files("foreslice").joinpath("..", "models")
    return Path(str(folder.joinpath("recipes", f"{name}.yaml")))


@cache
def shipped(name: str) -> Recipe:
    """Return a recipe of `models/recipes`: `own` or `pooled`, what is served unless settings name another."""
    return load(shipped_path(name))


def shipped_recipes() -> Recipes:
    """Return both."""
    return Recipes(shipped("own"), shipped("pooled"))


def any_of(path: Path, allowed: Collection[str] = ()) -> Recipe | Guest:
    """Return what a recipe's file describes: how a model is learnt, or which forecaster stands in for one.

    Args:
        path: The file; its name is the recipe's.
        allowed: Import paths of classes that may be used, beside ours.

    Raises:
        InvalidSettings: The file says something else; one line for each thing that is wrong.
        InputError: It cannot be read, or names a class that is not allowed or cannot be made.
    """
    file = YamlFile(path, "recipe", _EXAMPLE)
    if file.document.get("kind") == "forecaster":
        return _guest_of(file.group(ForecasterRecipe), path.stem, allowed)
    return recipe_of(file.group(ModelRecipe), path.stem, allowed)


def load(path: Path, allowed: Collection[str] = ()) -> Recipe:
    """Return the recipe of a model in a file; `InputError` as in `any_of`, and if it is of a forecaster."""
    found = any_of(path, allowed)
    if isinstance(found, Guest):
        raise InputError(
            "is of a forecaster, which the service makes anew each day and does not store",
            where=str(path),
            fix="name it as learning.recipe in the settings, or give a recipe with an estimator",
        )
    return found


def served(path: Path, allowed: Collection[str]) -> Recipe | Guest:
    """Return how the top rung of the ladder is made.

    `InputError` as in `any_of`, and if no decision could use it.
    """
    found = any_of(path, allowed)
    if isinstance(found, Recipe):
        asked = found.question
        if asked.quantiles != QUANTILES or asked.target is not Target.PEAK:
            what = "answers others than the peaks that decisions look at"
            raise InputError(what, where=str(path), fix=f"leave out `quantiles` and `target`, as {_EXAMPLE}")
    windows_s = found.windows_s if isinstance(found, Guest) else found.question.windows_s
    may = [WINDOWS_S[window] for window in LEARNED]
    if not set(windows_s) <= set(may):
        what = "has windows that are not on top of the ladder"
        raise InputError(what, where=str(path), fix=f"choose some of {', '.join(map(written, may))}")
    return found


def recipe_of(said: ModelRecipe, name: str, allowed: Collection[str] = ()) -> Recipe:
    """Return what a file's group of keys means; `InputError` as in `load`."""
    estimator = cast("Estimator", _imported(said.estimator, name, {FIRST, *allowed}))
    recipe = Recipe(
        name=name,
        estimator=estimator,
        parameters=said.parameters,
        question=Question(
            windows_s=tuple(int(window_s) for window_s in said.windows),
            quantiles=said.quantiles,
            target=said.target,
            calendar=said.calendar.calendar(),
        ),
        calibration=Calibration(int(said.calibration.memory), said.calibration.share, said.calibration.cap),
        left_out=said.features.leave_out,
        every_s=int(said.features.every),
    )
    _refuse_unmakeable(lambda: recipe.regressor(said.quantiles[0]), said.estimator, name, "`quantile`")
    return recipe


def variants(
    path: Path, most: int, seed: int, allowed: Collection[str] = ()
) -> list[tuple[dict[str, Any], Recipe]]:
    """Return points of a recipe's search space, drawn by seed: their values, and the recipe with them.

    `InputError` as in `load`, also where a key of the space is none of the recipe's or a value does not fit.
    """
    file = YamlFile(path, "recipe", _EXAMPLE)
    said = file.group(ModelRecipe)
    points = [dict(zip(said.search, values, strict=True)) for values in product(*said.search.values())]
    drawn = np.random.default_rng(seed).choice(len(points), min(most, len(points)), replace=False)
    return [
        (points[at], recipe_of(file.changed(points[at]).group(ModelRecipe), path.stem, allowed))
        for at in drawn
    ]


def types_of(allowed: Collection[str]) -> frozenset[str]:
    """Return the full names of allowed classes, by which a stored model's types go."""
    found = (_imported(path, "settings", allowed) for path in allowed)
    return frozenset(f"{one.__module__}.{one.__qualname__}" for one in found)


def _guest_of(said: ForecasterRecipe, name: str, allowed: Collection[str]) -> Guest:
    made = _imported(said.forecaster, name, frozenset(allowed))
    guest = Guest(name, made, said.parameters, tuple(int(window_s) for window_s in said.windows))
    _refuse_unmakeable(
        lambda: guest.make(WorkloadKey("default", name)), said.forecaster, name, "the workload"
    )
    return guest


def _refuse_unmakeable(make: Callable[[], object], path: str, name: str, first: str) -> None:
    try:
        make()
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{path} cannot be made with its parameters ({error})",
            where=f"recipe {name}",
            fix=f"correct `parameters`: it takes {first}, and these by name",
        ) from error


def _imported(path: str, name: str, allowed: Collection[str]) -> Callable[..., Any]:
    """Return the class with an import path; nothing is imported that is not allowed."""
    where = f"recipe {name}"
    if path not in allowed:
        raise InputError(
            f"{path} is not allowed",
            where=where,
            fix="add it to learning.allowed of the settings, and name these by --config",
        )
    module, _, attribute = path.rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(
            f"{path} cannot be imported ({error})", where=where, fix="install the package that holds it"
        ) from error
    if not callable(found):
        raise InputError(f"{path} is no class", where=where, fix="name the class")
    return cast("Callable[..., Any]", found)
