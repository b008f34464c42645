"""Fitted regressors of any kind, side by side: what a forest is of ours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from predictor.ports import Floats
from predictor.recipe import Regressor


@dataclass(frozen=True, slots=True)
class Regressors:
    """Models over the same columns.

    Attributes:
        models: Fitted.
    """

    models: tuple[Regressor, ...]

    def predict(self, rows: NDArray[np.floating]) -> Floats:
        """Return what each model says of each row (rows x columns in, rows x models out)."""
        if not len(rows):
            return np.empty((0, len(self.models)))
        return np.column_stack([model.predict(rows) for model in self.models]).astype(np.float64)
