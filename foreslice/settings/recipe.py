"""What a recipe may say. Unknown keys are refused: a typo must not become a default."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from fleet.demand import QUANTILES
from foreslice.settings.calendar import CalendarSettings
from foreslice.settings.durations import Apart, Memory, Window
from foreslice.settings.group import Group
from predictor.features import Target

FIRST = "foreslice.QuantileBoosting"
"""The estimator that needs no leave."""


def _of_a_class(path: str) -> str:
    parts = path.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):  # noqa: PLR2004 -- module and class
        raise ValueError("must be the import path of a class, as package.module.Class")
    return path


ImportPath = Annotated[str, AfterValidator(_of_a_class)]
Parameters = dict[str, bool | int | float | str | None]


class FeatureSettings(Group):
    """What models look at."""

    leave_out: Annotated[
        tuple[str, ...], Field(description="patterns of names of features that are not looked at")
    ] = ()
    every: Annotated[Apart, Field(description="how far apart the moments are that are learnt from")] = 0.0


class CalibrationSettings(Group):
    """How forecasts are shifted, while time goes by, to cover what they say."""

    memory: Annotated[Memory, Field(description="how long errors are remembered")]
    share: Annotated[float, Field(ge=0, le=1, description="share of the shift that is made")]
    cap: Annotated[float, Field(gt=0, le=5, description="largest shift, on the log scale")]


class _Recipe(Group):
    version: Annotated[Literal["v1"], Field(description="version of this format")]
    parameters: Annotated[Parameters, Field(description="what it is made with")] = Field(default_factory=dict)
    windows: Annotated[tuple[Window, ...], Field(min_length=1, description="windows ahead, rising")]

    @model_validator(mode="after")
    def _rising(self) -> _Recipe:
        if any(low >= high for low, high in pairwise(self.windows)):
            raise ValueError("windows must rise")
        return self


class ModelRecipe(_Recipe):
    """A model of features, one regressor for each quantile."""

    kind: Annotated[Literal["model"], Field(description="which of these forms is meant")] = "model"
    estimator: Annotated[ImportPath, Field(description="class of the regressors")] = FIRST
    target: Annotated[
        Target, Field(description="of each window: its highest step (peak) or its last (step)")
    ] = Target.PEAK
    quantiles: Annotated[
        tuple[Annotated[float, Field(gt=0, lt=1)], ...],
        Field(min_length=1, description="rising; default: those that decisions look at"),
    ] = QUANTILES
    features: FeatureSettings = FeatureSettings()
    calendar: CalendarSettings = CalendarSettings()
    calibration: CalibrationSettings
    search: Annotated[
        dict[str, tuple[Any, ...]],
        Field(description="values to try, by the dotted key that they are put in place of"),
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _quantiles_rise(self) -> ModelRecipe:
        if any(low >= high for low, high in pairwise(self.quantiles)):
            raise ValueError("quantiles must rise")
        return self


class ForecasterRecipe(_Recipe):
    """A forecaster of another library, or of yours."""

    kind: Annotated[Literal["forecaster"], Field(description="which of these forms is meant")]
    forecaster: Annotated[ImportPath, Field(description="class that keeps the contract of forecasters")]


def json_schema_text() -> str:
    """Return the JSON schema of a recipe, the text of `models/recipes/schema.json`."""
    forms = {form.__name__: form.model_json_schema() for form in (ModelRecipe, ForecasterRecipe)}
    definitions = {name: one for form in forms.values() for name, one in form.pop("$defs", {}).items()}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {**definitions, **forms},
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in forms],
    }
    return json.dumps(schema, indent=2) + "\n"
