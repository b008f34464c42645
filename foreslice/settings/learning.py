"""What the operator's file says of the models that forecasts are made by."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from foreslice.settings.engines import Several
from foreslice.settings.group import Group


class LearningSettings(Group):
    """How each workload's own model is learnt."""

    recipe: Annotated[
        Path | None, Field(description="recipe, relative to this file; default: models/recipes/own.yaml")
    ] = None
    allowed: Annotated[
        Several,
        Field(description="import paths of estimators and forecasters that recipes may name, beside ours"),
    ] = ()


class SharedModelSettings(Group):
    """The one model that many and new workloads share, from a store that `foreslice train` writes to."""

    store: Annotated[
        str | None,
        Field(description="folder, relative to this file, or fsspec URL; default: the shipped prior alone"),
    ] = None
    name: Annotated[str, Field(description="of the model in the store")] = "global"
