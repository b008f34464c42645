"""How a model is learnt, as data: what a data scientist turns without touching the service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Protocol, Self

from numpy.typing import ArrayLike

from fleet.workload import WorkloadKey
from predictor.calendar import Calendar
from predictor.features import Target
from predictor.ports import Floats, Forecaster


class Regressor(Protocol):
    """A scikit-learn regressor of one quantile, which is a parameter; columns may be empty (NaN)."""

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:  # noqa: N803 -- scikit-learn's name
        """Learn from rows of features and what came after each, and return self."""
        ...

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Return the quantile for each row."""
        ...


class Estimator(Protocol):
    """A class of regressors."""

    def __call__(self, *, quantile: float, **parameters: Any) -> Regressor:  # noqa: ANN401 -- whatever it takes
        """Return an unfitted one."""
        ...


@dataclass(frozen=True, slots=True)
class Calibration:
    """How forecasts are shifted, while time goes by, to cover what they say.

    Attributes:
        memory_s: How long errors are remembered.
        share: Share of the shift that would have covered them that is made.
        cap: Largest shift, on the log scale.
    """

    memory_s: int
    share: float
    cap: float


@dataclass(frozen=True, slots=True)
class Question:
    """What is forecast.

    Attributes:
        windows_s: Windows ahead.
        quantiles: Rising.
        target: Of each window.
        calendar: That the series live by.
    """

    windows_s: tuple[int, ...]
    quantiles: tuple[float, ...]
    target: Target = Target.PEAK
    calendar: Calendar = field(default_factory=Calendar)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is learnt; `foreslice.settings.recipe_file` reads it from YAML.

    Attributes:
        name: What people call it.
        estimator: Class of the regressors, one of which learns each quantile.
        parameters: What they are made with, beside the quantile.
        question: What they learn to answer.
        calibration: Of what they answer.
        left_out: Patterns of the names of features that they do not see.
        every_s: How far apart the steps are that are learnt from: windows of near steps are almost the same.
    """

    name: str
    estimator: Estimator
    parameters: Mapping[str, Any]
    question: Question
    calibration: Calibration
    left_out: tuple[str, ...] = ()
    every_s: int = 0

    def living_by(self, calendar: Calendar) -> Recipe:
        """Return the same for a workload whose users live by another calendar."""
        return replace(self, question=replace(self.question, calendar=calendar))

    def regressor(self, quantile: float) -> Regressor:
        """Return an unfitted model of a quantile."""
        return self.estimator(quantile=quantile, **self.parameters)

    def takes(self, feature: str) -> bool:
        """Return whether models see a feature."""
        return not any(fnmatchcase(feature, pattern) for pattern in self.left_out)


@dataclass(frozen=True, slots=True)
class Guest:
    """A forecaster of another library, instead of a model.

    Attributes:
        name: What people call it.
        forecaster: Its class, which keeps the contract of forecasters.
        parameters: What it is made with, beside the workload.
        windows_s: Windows ahead that it may serve.
    """

    name: str
    forecaster: Callable[..., Forecaster]
    parameters: Mapping[str, Any]
    windows_s: tuple[int, ...]

    def make(self, workload: WorkloadKey) -> Forecaster:
        """Return one that has seen nothing."""
        return self.forecaster(workload, **self.parameters)


@dataclass(frozen=True, slots=True)
class Recipes:
    """The two that a fleet's forecasts are made by.

    Attributes:
        own: Of the model that one series has for itself.
        pooled: Of the one that all series share.
    """

    own: Recipe
    pooled: Recipe
