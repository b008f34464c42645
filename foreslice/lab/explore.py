"""What is in a table of demand: how far it repeats, how it bursts, what is missing, what can be forecast."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from foreslice.api.demand import series_of
from foreslice.api.models import backtest
from foreslice.lab.pictures import bars, by_workload
from foreslice.report.ink import BLUE, COLOURS, GREEN, INK, ORANGE, inked
from predictor.features import Target, ahead
from predictor.recipe import Recipe
from predictor.season import season_strength
from predictor.steps import DAY_S, StepSeries

BURST = 1.5
"""Demand that rises above so many times where it stands."""

WINDOW_S = 1800
"""Within that time."""

_ROW_PX = 120
_GAP_COLOUR = "rgba(213,94,0,0.25)"


def summary(demand: pd.DataFrame) -> pd.DataFrame:
    """Return what each workload is like, a row each.

    Columns: `workload`, `mean` and `peak` (requests/s), `day` and `week` (season strength: correlation of
    hourly means with those a day and a week before), `bursts` (share of steps after which demand rises above
    1.5 times within 30 min), and the shares of steps that are `unknown`, `idle` and `censored`.
    """
    rows = []
    for tidy in series_of(demand):
        of_it = demand if tidy.name == "all" else demand[demand["workload"] == tidy.name]
        states = of_it["state"].value_counts(normalize=True)
        rows.append(
            {
                "workload": tidy.name,
                "mean": float(np.nanmean(tidy.series.values)),
                "peak": float(np.nanmax(tidy.series.values)),
                "day": _known(season_strength(tidy.series, DAY_S)),
                "week": _known(season_strength(tidy.series, 7 * DAY_S)),
                "bursts": float(_rises(tidy.series).gt(BURST).mean()),
                **{state: float(states.get(state, 0.0)) for state in ("unknown", "idle", "censored")},
            }
        )
    return pd.DataFrame(rows)


def forecastable(demand: pd.DataFrame, recipe: Recipe | None = None, window: str = "60m") -> pd.DataFrame:
    """Return what learning gains on each workload, from `backtest` at q .95; below 1 it beats the rules.

    Columns: `workload`, `over_bar`, `coverage`.
    """
    rows = backtest(demand, [window], [0.5, 0.95], recipe=recipe)
    return rows.loc[rows["quantile"] > 0.5, ["workload", "over_bar", "coverage"]].reset_index(drop=True)  # noqa: PLR2004 -- the median


def demand_figure(demand: pd.DataFrame) -> go.Figure:
    """Return requests/s of each workload over time; what is unknown is shaded, what is censored marked."""
    parts = by_workload(demand)
    figure = make_subplots(
        rows=len(parts),
        cols=1,
        shared_xaxes=True,
        subplot_titles=list(parts),
        vertical_spacing=0.35 / len(parts),
    )
    for row, part in enumerate(parts.values(), start=1):
        figure.add_scatter(
            x=part["time"],
            y=part["requests_per_s"],
            line={"color": BLUE, "width": 1.1},
            showlegend=False,
            row=row,
            col=1,
        )
        censored = part[part["state"] == "censored"]
        figure.add_scatter(
            x=censored["time"],
            y=censored["requests_per_s"],
            mode="markers",
            marker={"color": ORANGE, "size": 4},
            name="at least that much",
            showlegend=row == 1 and len(censored) > 0,
            row=row,
            col=1,
        )
        for start, end in _gaps(part):
            figure.add_vrect(x0=start, x1=end, fillcolor=_GAP_COLOUR, line_width=0, row=row, col=1)
        figure.update_yaxes(rangemode="tozero", row=row, col=1)
    figure.update_yaxes(title_text="requests/s", row=(len(parts) + 1) // 2, col=1)
    figure.update_xaxes(title_text="time, UTC", row=len(parts), col=1)
    title = "Demand; shaded: unknown, which is not zero"
    return inked(figure, title=title, height=90 + _ROW_PX * len(parts))


def season_figure(about: pd.DataFrame) -> go.Figure:
    """Return the season strengths of a `summary`."""
    columns = {"day": ("repeats by day", BLUE), "week": ("repeats by week", GREEN)}
    figure = bars(about, {name: drawn for name, drawn in columns.items() if about[name].notna().any()})
    figure.update_yaxes(title_text="correlation of hourly means", range=[-0.3, 1.02])
    return inked(figure, title="How far demand repeats itself (1 = it does)")


def burst_figure(demand: pd.DataFrame) -> go.Figure:
    """Return how high demand goes within 30 minutes, over where it stands, by share of all moments."""
    figure, top = go.Figure(), BURST
    for name, rises in ((tidy.name, _rises(tidy.series)) for tidy in series_of(demand)):
        ordered = np.sort(rises.dropna().to_numpy())[::-1]
        if len(ordered):
            top = max(top, float(ordered[0]))
            shares = 100 * np.arange(1, len(ordered) + 1) / len(ordered)
            figure.add_scatter(x=shares, y=ordered, name=name, line={"width": 1.5})
    figure.add_hline(y=BURST, line={"dash": "dot", "color": INK})
    figure.update_xaxes(title_text="share of moments, %", type="log")
    figure.update_yaxes(
        title_text="peak of the next 30 min over now", type="log", range=[-0.1, np.log10(top) + 0.1]
    )
    return inked(figure, title="Bursts: nobody foresees those above the dotted line well", height=420)


def token_figure(demand: pd.DataFrame) -> go.Figure:
    """Return the mean tokens of a request by hour of day, weighted by requests."""
    figure = make_subplots(rows=1, cols=2, subplot_titles=("prompt", "output"), horizontal_spacing=0.1)
    for (name, part), colour in zip(by_workload(demand).items(), cycle(COLOURS), strict=False):
        for column, tokens in enumerate(("prompt_tokens", "output_tokens"), start=1):
            known = part.dropna(subset=["requests_per_s", tokens])
            weight = known["requests_per_s"]
            hours = known["time"].dt.hour
            mean = (known[tokens] * weight).groupby(hours).sum() / weight.groupby(hours).sum()
            figure.add_scatter(
                x=mean.index,
                y=mean,
                name=name,
                legendgroup=name,
                showlegend=column == 1,
                line={"color": colour},
                row=1,
                col=column,
            )
    figure.update_xaxes(title_text="hour of day, UTC")
    figure.update_yaxes(title_text="tokens a request", rangemode="tozero", col=1)
    figure.update_yaxes(rangemode="tozero", col=2)
    return inked(figure, title="Token mix", height=400)


def forecastable_figure(gains: pd.DataFrame) -> go.Figure:
    """Return what learning gains, from `forecastable`."""
    figure = bars(gains, {"over_bar": ("loss over that of the better rule", BLUE)})
    figure.add_hline(y=1.0, line={"dash": "dot", "color": INK})
    figure.update_yaxes(title_text="loss at q .95, 1 = as good as a rule", rangemode="tozero")
    return inked(figure, title="What can be forecast")


def _known(strength: float | None) -> float:
    return np.nan if strength is None else strength


def _rises(series: StepSeries) -> pd.Series:
    """Return by step how high demand goes within the window, over where it stands; NaN where that is 0."""
    peak = ahead(series.highest, series.steps_in(WINDOW_S), Target.PEAK)
    now = np.where(series.values > 0, series.values, np.nan)
    return pd.Series(peak / now)


def _gaps(part: pd.DataFrame) -> list[tuple[pd.Timestamp, pd.Timestamp]]:
    """Return from when until when demand is unknown."""
    is_unknown = (part["state"] == "unknown").to_numpy()
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_unknown, [False]]).astype(int)))
    times = part["time"].to_numpy()
    step = pd.Timedelta(part["time"].diff().median())
    return [
        (pd.Timestamp(times[first]), pd.Timestamp(times[end - 1]) + step)
        for first, end in edges.reshape(-1, 2)
    ]
