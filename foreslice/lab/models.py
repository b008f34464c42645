"""Champion and challenger, in pictures and in GPU-hours."""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from fleet.errors import InputError
from foreslice.api.demand import series_of
from foreslice.api.models import TrainedModel
from foreslice.backtesting import scored
from foreslice.lab.pictures import bars
from foreslice.report import card
from foreslice.report.ink import BLUE, ORANGE, PINK, inked
from foreslice.settings.durations import seconds
from foreslice.settings.recipe_file import shipped, shipped_recipes
from predictor.recipe import Question, Recipe, Recipes

_HOURS_A_DAY = 24
_TEST_FRACTION = 0.3


def loss_figure(made: TrainedModel) -> go.Figure:
    """Return what a stored model costs beside its rivals, on the windows that all were tried on."""
    return card.loss_figure(made.manifest.scores)


def coverage_figure(made: TrainedModel) -> go.Figure:
    """Return whether its quantiles hold, and the band in which the gate wants them."""
    return card.coverage_figure(made.manifest.scores)


def idle(
    demand: pd.DataFrame, requests_per_card: float, window: str = "30m", recipe: Recipe | None = None
) -> pd.DataFrame:
    """Return the capacity that stands idle behind the .95 forecast, in GPU-hours a day, beside two rules.

    All are scaled with hindsight, so that they cover 95 % of windows. Columns: `workload`, `forecast`, `last`
    (k x the newest demand), `hour` (k x the last hour's maximum).

    Args:
        demand: As `read_demand` returns it.
        requests_per_card: What one card carries, requests/s (see `capacity_of`).
        window: Window ahead that capacity is provided for.
        recipe: How each series' own model is learnt.

    `InputError` where no series can be scored.
    """
    recipes = Recipes(recipe or shipped("own"), shipped_recipes().pooled)
    question = Question((int(seconds(window)),), (0.5, 0.95))
    runs = [(tidy, round(len(tidy.series) * (1 - _TEST_FRACTION))) for tidy in series_of(demand)]
    done, _ = scored(runs, question, recipes, lambda *_: None)
    rows = []
    for run in done:
        for one in run.cards.values():
            if one is not None and one.idle is not None:
                told = run.told[question.windows_s[0]]
                came = float(told.came[told.is_scored].mean())
                hours = _HOURS_A_DAY * came / requests_per_card
                shares = (one.idle.ours_at_95, one.idle.last_at_95, one.idle.hour_at_95)
                rows.append((run.tidy.name, *(share * hours for share in shares)))
    if not rows:
        raise InputError("has no window that can be scored", where="table", fix="give more days of demand")
    return pd.DataFrame(rows, columns=["workload", "forecast", "last", "hour"])


def idle_figure(hours: pd.DataFrame) -> go.Figure:
    """Return the idle capacity of `idle`."""
    columns = {
        "forecast": ("behind the forecast", BLUE),
        "last": ("behind k x newest demand", ORANGE),
        "hour": ("behind k x last hour's maximum", PINK),
    }
    figure = bars(hours, columns)
    figure.update_yaxes(title_text="idle GPU-hours a day", rangemode="tozero")
    return inked(figure, title="Capacity that stands idle, where 95 % of peaks are covered")
