"""What is forecast now, of series of any regular step: the newest line of a backtest."""

from __future__ import annotations

from collections.abc import Sequence

from predictor.backtest import blended, first_fit_s
from predictor.features import features
from predictor.ports import Floats
from predictor.recipe import Question, Recipes
from predictor.rolling import roll
from predictor.steps import StepSeries


def ahead(series: Sequence[StepSeries], question: Question, recipes: Recipes) -> list[dict[int, Floats]]:
    """Return for each series, by window in s, the quantiles of what comes after its last step.

    Models are refitted and calibrated over the last days as in production, by what was known each time. NaN
    where there is too little to say anything.

    Args:
        series: Of equal step; several teach one model together as well.
        question: What is forecast.
        recipes: How models are learnt; forecasts are calibrated as the own one's are.
    """
    tables = [features(one, question.windows_s, question.calendar, question.target) for one in series]
    first_s = [first_fit_s(one, len(one)) for one in series]
    logs = roll(series, tables, first_s, question.quantiles, recipes, lambda *_: None)
    return [
        {
            window_s: blended(
                one,
                table,
                said[window_s],
                one.steps_in(window_s),
                question.quantiles,
                recipes.own.calibration,
            )[0][-1]
            for window_s, table in by_window.items()
        }
        for one, by_window, said in zip(series, tables, logs, strict=True)
    ]
