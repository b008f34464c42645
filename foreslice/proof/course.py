"""What is known when, at one lag: demand on a grid of time, what of it counts, and the forecasts of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_dilation

from foreslice.proof.scene import Part, Scene
from foreslice.settings.recipe_file import shipped_recipes
from predictor.ahead import issued
from predictor.ports import BUCKET_S, Bools, Floats
from predictor.recipe import Question
from predictor.steps import DAY_S, StepSeries
from predictor.value.ledger import Limits

QUANTILES = (0.5, 0.8, 0.9, 0.95)
"""Of the peak forecasts whose paths are settings of ours."""

CHOSEN_ON_S = 5 * DAY_S
"""Days before the test that settings are chosen on; later choices go by the days since, too."""

FEW_DAYS = 14
"""Scored days below which a block of the bootstrap is half a day, else a day."""

SLOW_S, FAST_S = 300, 60
"""How often forecasts are issued: minutes matter where lags are under `SLOW_S` only."""

GAP_STEPS = 2
"""Steps of the data after a gap that do not count either, besides the lag."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Time in steps.

    Attributes:
        step_s: Length of a step: a minute, or half of one where the lag needs it.
        start: First step of the account, in steps of the scene: the first day that settings are chosen on.
        test: First scored step, counted from `start`.
        steps: Steps from `start` to the end.
        block: Steps in a block of the account.
        lag_s: Lag, seconds.
        limits: Of capacity in any size.
    """

    step_s: int
    start: int
    test: int
    steps: int
    block: int
    lag_s: float
    limits: Limits

    @property
    def first_block(self) -> int:
        """First block that is scored."""
        return self.test // self.block

    @property
    def by_day(self) -> int:
        """Blocks in a day."""
        return DAY_S // self.step_s // self.block


@dataclass(frozen=True, slots=True)
class Course:
    """One workload on a grid.

    Attributes:
        part: The workload.
        demand: Work by step; where unknown the last that was known.
        counts: Which steps are scored or chosen on.
        ahead: Peak forecasts for what is ordered after a step, by quantile and step; without a model yet, the
            newest work.
    """

    part: Part
    demand: Floats
    counts: Bools
    ahead: Floats


def grid_of(scene: Scene, lag_s: float, quiet_s: float) -> Grid:
    """Return the grid for a lag; settings are chosen on whole days before the test, five if there are."""
    step_s = BUCKET_S if lag_s % BUCKET_S == 0 else BUCKET_S // 2
    per_minute = BUCKET_S // step_s
    day = DAY_S // step_s
    test = scene.test * per_minute
    before = min(CHOSEN_ON_S // step_s, (test - FIRST_FORECAST_S // step_s) // day * day)
    return Grid(
        step_s=step_s,
        start=test - before,
        test=before,
        steps=len(scene.parts[0].work) * per_minute - test + before,
        block=day if scene.days >= FEW_DAYS else day // 2,
        lag_s=lag_s,
        limits=Limits(lag=int(-(-lag_s // step_s)), quiet=max(1, round(quiet_s / step_s))),
    )


FIRST_FORECAST_S = 3 * DAY_S
"""History before which there is no model."""


Forecast = Callable[[Sequence[StepSeries], int, int], Sequence[Floats]]
"""Given series, the first step that matters and a window in s: peaks by series, (steps, `QUANTILES`)."""


def learned(
    on_progress: Callable[[float], None] = lambda _: None, quantiles: Sequence[float] = QUANTILES
) -> Forecast:
    """Return the forecasts that the service would have made, by its recipes."""

    def forecast(series: Sequence[StepSeries], first: int, window_s: int) -> Sequence[Floats]:
        question = Question((window_s,), tuple(quantiles))
        told = issued(series, [first] * len(series), question, shipped_recipes(), on_progress)
        return [by_window[window_s] for by_window in told]

    return forecast


def courses_of(scene: Scene, grid: Grid, forecast: Forecast) -> list[Course]:
    """Return the workloads of a scene on a grid, with what was forecast at each step."""
    per_minute = BUCKET_S // grid.step_s
    span = slice(grid.start, grid.start + grid.steps)
    paths = _paths(scene, grid, forecast)
    courses = []
    for part, path in zip(scene.parts, paths, strict=True):
        demand = np.repeat(part.filled, per_minute)
        unknown = np.repeat(np.isnan(part.work), per_minute)
        after = grid.limits.lag + GAP_STEPS * max(1, part.step_s // grid.step_s)
        near = (
            binary_dilation(unknown, np.append(np.zeros(after), np.ones(after + 1)))
            if unknown.any()
            else unknown
        )
        ahead = np.where(np.isfinite(path), path, demand)
        courses.append(Course(part, demand[span], ~near[span], ahead[:, span]))
    return courses


def peaks_of(scene: Scene, grid: Grid, window_s: int, quantile: float) -> list[Floats]:
    """Return by workload what the service's recipes foresaw of the next window at each step of a grid.

    Where there is no model yet, 0.

    Args:
        scene: The workloads.
        grid: Time.
        window_s: How far is looked ahead.
        quantile: Of the peak, one of `fleet.demand.QUANTILES`.
    """
    series = [_series(part, scene.step_s, is_gliding=False) for part in scene.parts]
    forecast = learned(quantiles=(quantile,))
    said = forecast(series, grid.start * grid.step_s // scene.step_s, window_s)
    steps = grid.start + np.arange(grid.steps)
    newest = (steps + 1) * grid.step_s // scene.step_s - 1
    return [np.nan_to_num(path[np.clip(newest, 0, len(path) - 1), 0]) for path in said]


def unforeseen(scene: Scene, grid: Grid) -> list[Course]:
    """Return the workloads of a scene on a grid without forecasts, for rules that need none."""
    return courses_of(scene, grid, _nothing)


def _nothing(series: Sequence[StepSeries], first: int, window_s: int) -> Sequence[Floats]:  # noqa: ARG001 -- as any forecast
    return [np.full((len(one), len(QUANTILES)), np.nan) for one in series]


def _paths(scene: Scene, grid: Grid, forecast: Forecast) -> list[Floats]:
    """Return by workload the forecasts that stand at the end of each step of the scene."""
    is_gliding = scene.reading == "glide"
    every_s = scene.step_s if is_gliding else SLOW_S if grid.lag_s >= SLOW_S else FAST_S
    window_s = int(-(-(grid.lag_s + every_s) // every_s) * every_s)
    series = [_series(part, every_s, is_gliding=is_gliding) for part in scene.parts]
    first = (grid.start * grid.step_s) // every_s
    said = forecast(series, first, window_s)
    # A forecast stands from the end of its step (in the middle of it, where demand glides) to the next one.
    steps = len(scene.parts[0].work) * BUCKET_S // grid.step_s
    ends_s = (np.arange(steps) + 1) * grid.step_s + (every_s // 2 if is_gliding else 0)
    newest = ends_s // every_s - 1
    return [np.where(newest >= 0, path[np.clip(newest, 0, len(path) - 1)].T, np.nan) for path in said]


def _series(part: Part, every_s: int, *, is_gliding: bool) -> StepSeries:
    is_censored = np.zeros(len(part.work), np.bool_)
    if not is_gliding:
        return StepSeries.of_minutes(0, part.work, is_censored, every_s)
    width = every_s // BUCKET_S
    # The minute that ends in the middle: it is over when the forecast is made.
    middles = part.work[: len(part.work) // width * width].reshape(-1, width)[:, width // 2 - 1]
    return StepSeries(0, every_s, middles, middles, np.zeros(len(middles), np.bool_))
