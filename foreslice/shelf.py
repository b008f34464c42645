"""Where the model comes from that workloads share: the store of the settings, else the shipped prior."""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np

from foreslice.settings.learning import SharedModelSettings
from foreslice.settings.recipe_file import shipped, types_of
from predictor.forecasters.learned import STEP_S
from predictor.registry.challenge import signature_of
from predictor.registry.manifest import Signature
from predictor.registry.registry import Registry
from predictor.shared import Shared, Shelf
from predictor.steps import StepSeries


def shelf_of(settings: SharedModelSettings, folder: Path, allowed: Collection[str] = ()) -> Shelf:
    """Return the shelf that settings describe; a plain path is relative to `folder`.

    `allowed` are import paths of estimators, beside ours, that a model may be made of. `InputError` if the
    store's URL cannot be used.
    """
    registry = None
    if settings.store is not None:
        is_url = "://" in settings.store
        url = settings.store if is_url else str(folder / settings.store)
        registry = Registry(url, types_of(allowed))
    return Shelf(registry, settings.name, served_signature(), prior())


@cache
def served_signature() -> Signature:
    """Return what a shared model takes and gives so that the learned rung can use it."""
    one = StepSeries(0, STEP_S, np.zeros(1), np.zeros(1), np.zeros(1, np.bool_))
    return signature_of(one, shipped("shared").question)


@cache
def prior() -> Shared | None:
    """Return the model that comes with foreslice, `None` if there is none that is sound here."""
    folder = files("foreslice").joinpath("data", "models")  # in a wheel; in a checkout:
    folder = folder if folder.is_dir() else files("foreslice").joinpath("..", "models")
    found = Registry(str(folder)).champion("prior", served_signature()).artefact
    return Shared.of(found) if found is not None else None
