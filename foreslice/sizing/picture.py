"""What every shape of a card carries, as one self-contained page."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from capacity.ask import Answer
from capacity.sustained import Binding
from foreslice.report.figures import PALETTE
from foreslice.report.html import div, rendered
from foreslice.sizing.show import Asked

_COLOURS = dict(zip(Binding, PALETTE, strict=False))
_ROW_PX = 46
_MARGIN_PX = 130
_BELOW_TITLE_PX = 60


def page(asked: Asked) -> str:
    """Return the page as one HTML text, with everything that it needs inside."""
    return rendered(
        "foreslice.sizing",
        "capacity.html.j2",
        title=asked.title,
        rests_on=asked.rests_on,
        figure=div(rates_figure(asked), "rates"),
        refused=[(answer.shape.name, answer.obstacle) for answer in asked.answers if answer.obstacle],
    )


def rates_figure(asked: Asked) -> go.Figure:
    """Return two panels: what one replica of each shape sustains, and what that is for each card it takes.

    A bar is the expected rate, the mark on it what is exceeded with 90 % confidence; its colour says what
    stops the shape from carrying more. Shapes whose engine does not start are left out.
    """
    figure = make_subplots(
        rows=1,
        cols=2,
        shared_yaxes=True,
        horizontal_spacing=0.06,
        subplot_titles=("one replica", "for each card that it takes"),
    )
    able = [answer for answer in asked.answers if answer.obstacle is None]
    for binding, colour in _COLOURS.items():
        stopped = [answer for answer in able if answer.binding is binding]
        for column in (1, 2) if stopped else ():
            figure.add_bar(
                y=[answer.shape.name for answer in stopped],
                x=[_rate(asked, answer, column, answer.requests_per_s) for answer in stopped],
                orientation="h",
                marker_color=colour,
                name=f"stopped by {binding}",
                legendgroup=binding,
                showlegend=column == 1,
                hovertemplate="%{y}: %{x:.2f} requests/s<extra></extra>",
                row=1,
                col=column,
            )
    for column in (1, 2):
        figure.add_scatter(
            y=[answer.shape.name for answer in able],
            x=[_rate(asked, answer, column, answer.requests_per_s_low) for answer in able],
            mode="markers",
            marker={"symbol": "line-ns", "size": 22, "line": {"width": 3, "color": "#1b1f24"}},
            name="at least, 90 % confidence",
            legendgroup="low",
            showlegend=column == 1,
            hovertemplate="%{y}: at least %{x:.2f} requests/s<extra></extra>",
            row=1,
            col=column,
        )
        figure.update_xaxes(title_text="requests/s", rangemode="tozero", row=1, col=column)
    names, rows_px = [answer.shape.name for answer in able], _ROW_PX * max(len(able), 3)
    figure.update_yaxes(categoryorder="array", categoryarray=names, autorange="reversed", ticksuffix="  ")
    figure.update_layout(
        height=_MARGIN_PX + rows_px,
        barmode="overlay",
        legend={"orientation": "h", "y": -_BELOW_TITLE_PX / rows_px},
        margin={"l": 10, "r": 10, "t": 40, "b": 10},
        plot_bgcolor="rgba(128,128,128,0.06)",
    )
    return figure


def _rate(asked: Asked, answer: Answer, column: int, requests_per_s: float) -> float:
    share = asked.gpu_share(answer.shape) if column > 1 else 1.0
    return round(requests_per_s / share, 4)
