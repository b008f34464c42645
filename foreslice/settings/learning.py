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
