"""What is forecast now, or was at each step, of series of any regular step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from predictor.backtest import blended, first_fit_s
from predictor.features import features
from predictor.ports import Floats
from predictor.recipe import Question, Recipes
from predictor.rolling import roll
from predictor.steps import StepSeries


def ahead(series: Sequence[StepSeries], question: Question, recipes: Recipes) -> list[dict[int, Floats]]:
    """Return for each series, by window in s, the quantiles of what comes after its last step.

    NaN where there is too little to say anything.

    Args:
        series: Of equal step; several teach one model together as well.
        question: What is forecast.
        recipes: How models are learnt; forecasts are calibrated as the own one's are.
    """
    told = issued(series, [len(one) for one in series], question, recipes)
    return [{window_s: path[-1] for window_s, path in by_window.items()} for by_window in told]


def issued(
    series: Sequence[StepSeries],
    wanted_from: Sequence[int],
    question: Question,
    recipes: Recipes,
    on_progress: Callable[[float], None] = lambda _: None,
) -> list[dict[int, Floats]]:
    """Return for each series, by window in s, what was forecast after each step: (steps, quantiles).

    Models are refitted and calibrated as in production, by what was known each time. NaN before the first.

    Args:
        series: Of equal step; several teach one model together as well.
        wanted_from: For each, the first step whose forecast matters; models are there six days before.
        question: What is forecast.
        recipes: How models are learnt; forecasts are calibrated as the own one's are.
        on_progress: Told the share of the refits that is over.
    """
    tables = [features(one, question.windows_s, question.calendar, question.target) for one in series]
    first_s = [first_fit_s(one, step) for one, step in zip(series, wanted_from, strict=True)]
    logs = roll(
        series, tables, first_s, question.quantiles, recipes, lambda turn, turns: on_progress(turn / turns)
    )
    return [
        {
            window_s: blended(
                one,
                table,
                said[window_s],
                one.steps_in(window_s),
                question.quantiles,
                recipes.own.calibration,
            )[0]
            for window_s, table in by_window.items()
        }
        for one, by_window, said in zip(series, tables, logs, strict=True)
    ]
