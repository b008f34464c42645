"""What would have been forecast, step by step: models refitted as in production, nothing from the future."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from predictor import baselines
from predictor.blend import Line, Origin
from predictor.features import Features, Target, features, newest
from predictor.learned import LEAST_S
from predictor.ports import Bools, Floats
from predictor.recipe import Calibration, Question, Recipes
from predictor.rolling import Logs, roll
from predictor.steps import DAY_S, StepSeries

WARM_UP_S = 6 * DAY_S
"""Time before the scored part in which models are refitted too: calibration learns from what they say
there."""

OURS = "foreslice"
LAST = "last + residual"
LAST_WEEK = "max(last, last week)"
YESTERDAY = "seasonal naive"
SMOOTHED = "Holt-Winters"


@dataclass(frozen=True, slots=True)
class Told:
    """The forecasts of one series and window, by the step after which the window opens.

    Attributes:
        is_scored: Steps of the test whose outcome is known and of which ours and the bars said something.
        newest: The newest demand.
        last_hour: The highest step of the last hour.
        came: What came, NaN = unknown.
        said: By method, forecasts by step and quantile.
        is_cut: Where ours was cut, as beyond all history.
        usual: Mean demand before the test.
    """

    is_scored: Bools
    newest: Floats
    last_hour: Floats
    came: Floats
    said: Mapping[str, Floats]
    is_cut: Bools
    usual: float


@dataclass(slots=True)
class Cost:
    """CPU time that ours took, seconds."""

    fit_s: float = 0.0
    predict_s: float = 0.0


Progress = Callable[[str, float], None]


def backtest(
    series: Sequence[StepSeries],
    test_from: Sequence[int],
    question: Question,
    recipes: Recipes,
    on_progress: Progress,
) -> tuple[list[dict[int, Told]], Cost]:
    """Return for each series, by window in s, what was forecast after each step and what came.

    Series of equal step teach one model together as well, as the workloads of a fleet do.

    Args:
        series: Any regular series.
        test_from: For each, the first step that is scored.
        question: What is forecast.
        recipes: How models are learnt; forecasts are calibrated as the own one's are.
        on_progress: Told what is being done, and the share that is over.
    """
    cost = Cost()
    told: list[dict[int, Told]] = [{} for _ in series]
    lengths = [len(one) for one in series]
    over = 0.0
    for step_s in sorted({one.step_s for one in series}):
        group = [i for i, one in enumerate(series) if one.step_s == step_s]
        share = sum(lengths[i] for i in group) / sum(lengths)

        def say(what: str, done: float, over: float = over, share: float = share) -> None:
            on_progress(what, over + share * done)

        tests = [test_from[i] for i in group]
        together = _together([series[i] for i in group], tests, question, recipes, cost, say)
        for i, one in zip(group, together, strict=True):
            told[i] = one
        over += share
    return told, cost


def _together(
    series: Sequence[StepSeries],
    test_from: Sequence[int],
    question: Question,
    recipes: Recipes,
    cost: Cost,
    say: Progress,
) -> Iterator[dict[int, Told]]:
    started_s = time.process_time()
    tables = [features(one, question.windows_s, question.calendar, question.target) for one in series]
    first_s = [first_fit_s(one, test) for one, test in zip(series, test_from, strict=True)]
    logs = roll(
        series,
        tables,
        first_s,
        question.quantiles,
        recipes,
        lambda turn, turns: say(f"refit {turn + 1} of {turns}", FITTING * turn / turns),
    )
    cost.fit_s += time.process_time() - started_s
    for i, (one, test) in enumerate(zip(series, test_from, strict=True)):
        say(f"score {i + 1} of {len(series)}", FITTING + (1 - FITTING) * i / len(series))
        yield {
            window_s: _tell(
                one, test, table, logs[i][window_s], window_s, question, recipes.own.calibration, cost
            )
            for window_s, table in tables[i].items()
        }


FITTING = 0.8
"""Share of the time that models take."""


def first_fit_s(series: StepSeries, test_from: int) -> float:
    """Return when the series is to have its first model: whole days on, before the warm-up ends."""
    before = test_from * series.step_s - WARM_UP_S
    return series.start_s + max(LEAST_S, before // DAY_S * DAY_S)


def _tell(
    series: StepSeries,
    test_from: int,
    table: Features,
    logs: Logs,
    window_s: int,
    question: Question,
    calibration: Calibration,
    cost: Cost,
) -> Told:
    width = series.steps_in(window_s)
    quantiles = question.quantiles
    centres = _centres(series, table, width, test_from, question.target)
    said = {
        name: baselines.calibrated(centre, table.target, width, series.step_s, quantiles)
        for name, centre in centres.items()
    }
    started_s = time.process_time()
    said[OURS], is_cut = blended(series, table, logs, width, quantiles, calibration)
    cost.predict_s += time.process_time() - started_s
    is_test = np.arange(len(series)) >= test_from
    is_said = np.all([np.isfinite(said[name]).all(axis=1) for name in (OURS, LAST, LAST_WEEK)], axis=0)
    return Told(
        is_scored=is_test & is_said & np.isfinite(table.target),
        newest=centres[LAST],
        last_hour=table.hour,
        came=table.target,
        said=said,
        is_cut=is_cut,
        usual=float(np.nanmean(series.values[:test_from])),
    )


def _centres(
    series: StepSeries, table: Features, width: int, test_from: int, target: Target
) -> dict[str, Floats]:
    warm = max(2 * DAY_S, test_from * series.step_s - WARM_UP_S) // series.step_s
    refits = list(range(warm, len(series), 7 * DAY_S // series.step_s))
    return {
        LAST: newest(series),
        LAST_WEEK: table.newest_or_last_week,
        YESTERDAY: baselines.yesterday(series, table, width),
        SMOOTHED: baselines.holt_winters(series, width, target, refits),
    }


def blended(
    series: StepSeries,
    table: Features,
    logs: Logs,
    width: int,
    quantiles: tuple[float, ...],
    calibration: Calibration,
) -> tuple[Floats, Bools]:
    """Return by step ours, and whether it was cut; outcomes are taken in as they become known."""
    highest = np.fmax.accumulate(series.highest)
    closed = np.append(np.full(width, np.nan), table.target)
    is_bound = np.append(np.zeros(width, np.bool_), table.is_bound)
    line = Line(quantiles, series.step_s, width, calibration)
    demand = np.full((len(series), len(quantiles)), np.nan)
    is_cut = np.zeros(len(series), np.bool_)
    for step in range(len(series)):
        origin = Origin.of(table, step, highest[step], logs.learned[step], logs.anchored[step])
        said = line.advance(origin, closed[step], is_bound=bool(is_bound[step]))
        if said is not None:
            demand[step], is_cut[step] = said.demand, said.is_cut
    return demand, is_cut
