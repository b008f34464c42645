"""Pictures of a search over recipes."""

from __future__ import annotations

import plotly.graph_objects as go

from foreslice.api.tuning import Tuned
from foreslice.report.ink import BLUE, GREEN, INK, inked


def trials_figure(found: Tuned) -> go.Figure:
    """Return the loss of each trial on the days that chose, and of the best on days that nobody had seen."""
    trials = found.trials.drop(columns="over_rules")
    said = [
        "<br>".join(f"{str(key).rpartition('.')[2]} {value}" for key, value in row.items())
        for _, row in trials.iterrows()
    ]
    places = [f"trial {place + 1}" for place in range(len(trials))]
    figure = go.Figure(
        go.Bar(
            x=places,
            y=found.trials["over_rules"],
            marker_color=BLUE,
            customdata=said,
            name="on the days that chose",
            hovertemplate="%{customdata}<br>%{y:.3f}<extra></extra>",
        )
    )
    figure.add_scatter(
        x=places[:1],
        y=[found.over_rules],
        mode="markers",
        marker={"size": 13, "color": GREEN, "symbol": "diamond"},
        name="the best, on days that no trial has seen",
    )
    figure.add_hline(y=1.0, line={"dash": "dot", "color": INK})
    figure.update_yaxes(title_text="loss over that of the better rule", rangemode="tozero")
    return inked(figure, title="Trials, best first; below 1 is better than the rules")
