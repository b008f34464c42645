"""Pictures of a backtest: what was forecast beside what came, and which series gained."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from foreslice.report.html import div, rendered
from foreslice.report.ink import BLUE, GREEN, ORANGE, RED
from foreslice.report.scores import HEAD, Backtested, rows
from foreslice.settings.durations import written
from predictor.backtest import OURS
from predictor.ports import Floats

CAME, SAID, GAIN, LOSS = BLUE, ORANGE, GREEN, RED

DRAWN = 24
"""Series that are drawn, in the order of the file."""

ROW_PX = 190
BAR_PX = 22
MARGIN_PX = 110


def page(runs: Sequence[Backtested], figures: dict[str, Any], quantiles: tuple[float, ...]) -> str:
    """Return the page as one HTML text with everything that it needs inside."""
    window_s = figures["overall"][0]["window_s"]
    scored = [run for run in runs if run.cards[window_s] is not None]
    return rendered(
        "foreslice.report",
        "backtest.html.j2",
        file=figures["file"],
        window=written(window_s),
        drawn=min(DRAWN, len(scored)),
        series=len(scored),
        high=f"{quantiles[_high(quantiles)]:g}",
        head=HEAD,
        rows=rows(figures),
        ratios=div(_ratios(scored, window_s, quantiles[_high(quantiles)]), "ratios"),
        forecasts=div(_forecasts(scored[:DRAWN], window_s, quantiles), "forecasts"),
    )


def _high(quantiles: tuple[float, ...]) -> int:
    """Return the place of the quantile next to .95."""
    return int(np.argmin(np.abs(np.array(quantiles) - 0.95)))


def _ratios(runs: Sequence[Backtested], window_s: int, quantile: float) -> go.Figure:
    cards = [(run.tidy.name, run.cards[window_s]) for run in runs]
    ratios = sorted((card.ratio[quantile], name) for name, card in cards if card is not None)
    figure = go.Figure(
        go.Bar(
            x=[ratio for ratio, _ in ratios],
            y=[name for _, name in ratios],
            orientation="h",
            marker_color=[GAIN if ratio <= 1 else LOSS for ratio, _ in ratios],
            hovertemplate="%{y}: %{x:.2f}<extra></extra>",
        )
    )
    figure.add_vline(x=1.0, line_dash="dot")
    figure.update_layout(
        height=MARGIN_PX + BAR_PX * len(ratios),
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
        xaxis={"title": "loss over that of the bar (1 = no better)", "rangemode": "tozero"},
        yaxis={"automargin": True, "autorange": "reversed"},
    )
    return figure


def _forecasts(runs: Sequence[Backtested], window_s: int, quantiles: tuple[float, ...]) -> go.Figure:
    figure = make_subplots(
        rows=len(runs),
        cols=1,
        subplot_titles=[run.tidy.name for run in runs],
        vertical_spacing=0.3 / len(runs),
    )
    for row, run in enumerate(runs, start=1):
        series, told = run.tidy.series, run.told[window_s]
        test = slice(run.test_from, None)
        times = [datetime.fromtimestamp(at_s, UTC) for at_s in (series.ends_s[test]).tolist()]
        said = told.said[OURS][test]
        lines: list[tuple[str, Floats, str]] = [
            ("highest demand of the window that came", told.came[test], CAME),
            (f"forecast, quantile {quantiles[_high(quantiles)]:g}", said[:, _high(quantiles)], SAID),
        ]
        for name, values, colour in lines:
            figure.add_scatter(
                x=times,
                y=values,
                name=name,
                legendgroup=name,
                showlegend=row == 1,
                line={"color": colour, "width": 1.3},
                row=row,
                col=1,
            )
        figure.update_yaxes(rangemode="tozero", row=row, col=1)
    figure.update_layout(
        height=MARGIN_PX + ROW_PX * len(runs),
        margin={"l": 10, "r": 10, "t": 60, "b": 30},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.0 + 30 / (ROW_PX * len(runs)), "x": 0},
    )
    return figure
