"""The card of a stored model with plots: what it costs beside its rivals, and whether its quantiles hold."""

from __future__ import annotations

import plotly.graph_objects as go

from foreslice.report.html import div, rendered
from foreslice.report.ink import BLUE, GREEN, INK, ORANGE, PINK, RED, SKY, inked
from foreslice.settings.durations import written
from predictor.registry.card import card
from predictor.registry.gate import WORST, band, ratio_to
from predictor.registry.manifest import Manifest, Score

_COLOURS = (ORANGE, SKY, PINK, GREEN, BLUE, RED)


def page(manifest: Manifest) -> str:
    """Return the page as one HTML text with everything that it needs inside."""
    return rendered(
        "foreslice.report",
        "card.html.j2",
        name=manifest.name,
        about=[line.removeprefix("- ") for line in card(manifest).splitlines() if line.startswith("- ")],
        means=[
            (rival, f"{ratio:.3f}")
            for rival in _rivals(manifest.scores)
            if (ratio := ratio_to(manifest.scores, rival)) is not None
        ],
        losses=div(loss_figure(manifest.scores), "losses"),
        coverage=div(coverage_figure(manifest.scores), "coverage"),
    )


def loss_figure(scores: tuple[Score, ...]) -> go.Figure:
    """Return by window and quantile a model's loss over that of each rival, and where the gate closes."""
    figure = go.Figure()
    where = [[written(score.window_s) for score in scores], [f"q {score.quantile:g}" for score in scores]]
    for rival, colour in zip(_rivals(scores), _COLOURS, strict=False):
        losses = [score.loss_of(rival) for score in scores]
        figure.add_bar(
            x=where,
            y=[score.pinball / loss if loss else None for score, loss in zip(scores, losses, strict=True)],
            name=f"over {rival}",
            marker_color=colour,
            hovertemplate="%{x}: %{y:.3f}<extra></extra>",
        )
    figure.add_hline(y=WORST, line={"dash": "dot", "color": RED})
    figure.update_yaxes(title_text="loss over that of the rival", rangemode="tozero")
    figure.update_xaxes(title_text="window ahead and quantile")
    return inked(figure, title="What it costs: below 1 is better; dotted, where the gate closes")


def coverage_figure(scores: tuple[Score, ...]) -> go.Figure:
    """Return by window and quantile the share of windows that a model covered, in the band that passes."""
    figure = go.Figure()
    names = [f"{written(score.window_s)}, q {score.quantile:g}" for score in scores]
    bands = [band(score.quantile) for score in scores]
    figure.add_bar(
        x=names,
        y=[100 * (high - low) for low, high in bands],
        base=[100 * low for low, _ in bands],
        marker_color="rgba(125,133,144,0.3)",
        name="passes",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=names,
        y=[100 * score.quantile for score in scores],
        mode="markers",
        marker={"symbol": "line-ew", "size": 26, "line": {"width": 2, "color": INK}},
        name="said",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=names,
        y=[100 * score.coverage for score in scores],
        mode="markers",
        marker={
            "size": 11,
            "color": [
                GREEN if low <= score.coverage <= high else RED
                for score, (low, high) in zip(scores, bands, strict=True)
            ],
        },
        name="covered",
        hovertemplate="%{x}: %{y:.1f} %<extra></extra>",
    )
    least = min([*(low for low, _ in bands), *(score.coverage for score in scores)], default=0.0)
    figure.update_yaxes(title_text="windows at or below, %", range=[max(0.0, 100 * least - 4), 101.5])
    return inked(figure, title="Whether its quantiles hold")


def _rivals(scores: tuple[Score, ...]) -> list[str]:
    return list(dict.fromkeys(loss.method for score in scores for loss in score.rivals))
