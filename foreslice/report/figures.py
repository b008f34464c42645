"""Pictures of one replayed day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fleet.workload import WorkloadKey
from foreslice.replayed import Replayed
from foreslice.report.ink import BLUE, GREEN, ORANGE, PINK, PURPLE, RED, SKY, YELLOW
from foreslice.standby.diary import PoolDay
from predictor.ports import Floats
from simulator.traffic import MINUTE_S

PALETTE = (BLUE, ORANGE, GREEN, PINK, SKY, RED, YELLOW, PURPLE)
FREE = "rgba(128,128,128,0.14)"
ROW_PX = 190
SLICES = 8
"""Memory slices of the cards that are drawn."""
CARD_PITCH = SLICES + 2
SLICE_PX = 4
BAR_SHARE = 0.92
"""A little of the paper shows between neighbours."""
MAX_WORK_HEADROOM = 1.15

POOL_COLOUR = "#7F7F7F"
"""Of slices that are nobody's alone."""


def colour_of(keys: Sequence[WorkloadKey]) -> dict[WorkloadKey, str]:
    """Return one colour a workload, the same in every picture."""
    return {key: PALETTE[index % len(PALETTE)] for index, key in enumerate(keys)}


def demand_figure(day: Replayed) -> go.Figure:
    """Return one row a workload: work offered, what was forecast for it, and what was ready to carry it.

    A forecast is drawn at the end of the window that it speaks of, beside the peak that really came. A rule
    says one value for all quantiles: it has a broken line and no fan.
    """
    keys = list(day.work)
    fans = {key: peaks for key, peaks in day.peaks.items() if np.any(peaks.high > peaks.low)}
    named = next((key for key in keys if key in fans), None)
    ruled = {key: peaks for key, peaks in day.peaks.items() if np.any(peaks.high == peaks.low)}
    named_rule = next((key for key in keys if key in ruled), None)
    figure = make_subplots(
        rows=len(keys),
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.25 / len(keys),
        subplot_titles=[key.name for key in keys],
    )
    for row, key in enumerate(keys, start=1):
        shown = row == 1
        peaks = fans.get(key)
        if peaks is not None:
            times = _times(peaks.at_s + peaks.window_s)
            for quantile, fill in ((peaks.low, None), (peaks.high, "tonexty")):
                figure.add_scatter(
                    x=times,
                    y=_rounded(quantile),
                    mode="lines",
                    line={"width": 0},
                    fill=fill,
                    fillcolor="rgba(0,114,178,0.22)",
                    name=f"forecast peak, next {peaks.window_s / 60:.0f} min, q .90 to .99",
                    legendgroup="forecast",
                    showlegend=key == named and fill is not None,
                    hoverinfo="skip",
                    row=row,
                    col=1,
                )
        if (rule := ruled.get(key)) is not None:
            figure.add_scatter(
                x=_times(rule.at_s + rule.window_s),
                y=_rounded(np.where(rule.high == rule.low, rule.high, np.nan)),
                mode="lines",
                line={"width": 1.2, "color": BLUE, "dash": "dot", "shape": "hv"},
                name="what a rule expects, where one decides",
                legendgroup="rule",
                showlegend=key == named_rule,
                row=row,
                col=1,
            )
        figure.add_scatter(
            x=_times(day.minutes_s),
            y=_rounded(day.capacity[key]),
            mode="lines",
            line={"width": 1.5, "color": GREEN, "shape": "hv"},
            name="ready capacity, lower bound",
            legendgroup="capacity",
            showlegend=shown,
            row=row,
            col=1,
        )
        figure.add_scatter(
            x=_times(day.minutes_s),
            y=_rounded(day.work[key]),
            mode="lines",
            line={"width": 1.2, "color": RED},
            name="work offered",
            legendgroup="work",
            showlegend=shown,
            row=row,
            col=1,
        )
        top = float(max(np.nanmax(day.work[key]), np.nanmax(day.capacity[key])))
        figure.update_yaxes(range=[0, top * MAX_WORK_HEADROOM], title_text="replicas", row=row, col=1)
    return _styled(figure, height=ROW_PX * len(keys) + 80)


def cards_figure(day: Replayed) -> go.Figure:
    """Return a map of the memory slices of every card over the day, coloured by who held them."""
    figure = go.Figure()
    named = [(key, key.name, colour) for key, colour in colour_of(list(day.work)).items()]
    pool = [(None, "standby pool", POOL_COLOUR)] if day.pool is not None else []
    for key, name, colour in [*named, *pool]:
        held = [one for one in day.held if one.workload == key]
        figure.add_bar(
            orientation="h",
            base=_times(np.array([one.from_s for one in held])),
            x=[(one.until_s - one.from_s) * 1000 for one in held],
            y=[one.card * CARD_PITCH + one.first_slice + one.slices / 2 for one in held],
            width=[one.slices * BAR_SHARE for one in held],
            marker={"color": colour, "line": {"width": 0}},
            name=name,
            text=[f"card {one.card}, {one.profile or 'whole card'}" for one in held],
            textposition="none",
            hovertemplate=f"{name}: %{{text}}<br>%{{base|%H:%M}} to %{{x|%H:%M}}<extra></extra>",
        )
    for card in range(day.cards):
        figure.add_hrect(
            y0=card * CARD_PITCH,
            y1=card * CARD_PITCH + SLICES,
            fillcolor=FREE,
            line={"width": 0},
            layer="below",
        )
    figure.update_xaxes(type="date", range=_day(day))
    figure.update_yaxes(
        tickvals=[card * CARD_PITCH + SLICES / 2 for card in range(day.cards)],
        ticktext=[f"card {card}" for card in range(day.cards)],
        range=[day.cards * CARD_PITCH, -1],
        showgrid=False,
        zeroline=False,
    )
    figure.update_layout(barmode="overlay")
    return _styled(figure, height=SLICE_PX * CARD_PITCH * day.cards + 120)


def steps_figure(day: Replayed) -> go.Figure:
    """Return every step that was taken, by workload, with its reason on hover."""
    keys = list(day.work)
    figure = go.Figure()
    for verb, symbol, colour in (
        ("create-variant", "diamond-open", PURPLE),
        ("scale-up", "triangle-up", GREEN),
        ("scale-down", "triangle-down", RED),
    ):
        steps = [step for step in day.steps if step.verb == verb]
        figure.add_scatter(
            x=_times(np.array([step.at_s for step in steps])),
            y=[step.workload.name for step in steps],
            mode="markers",
            marker={"symbol": symbol, "size": 10, "color": colour},
            name=verb,
            text=[f"{step.variant}: {step.replicas} replicas<br>{step.because}" for step in steps],
            hovertemplate="%{x|%H:%M:%S} %{y}<br>%{text}<extra></extra>",
        )
    figure.update_xaxes(type="date", range=_day(day))
    figure.update_yaxes(categoryorder="array", categoryarray=[key.name for key in reversed(keys)])
    return _styled(figure, height=34 * len(keys) + 120)


def cards_in_use_figure(days: Sequence[Replayed]) -> go.Figure:
    """Return the cards in use over the day under every policy."""
    figure = go.Figure()
    for day, colour in zip(days, PALETTE[: len(days)], strict=True):
        figure.add_scatter(
            x=_times(day.minutes_s),
            y=day.cards_in_use,
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 1.8},
            name=day.policy,
        )
    figure.update_yaxes(rangemode="tozero", title_text="cards in use")
    return _styled(figure, height=300)


def pool_figure(minutes_s: Floats, pool: PoolDay) -> go.Figure:
    """Return the slices of a standby pool by minute: that there were, that were asked for, and in vain."""
    figure = go.Figure()
    for name, values, colour in (
        ("slices that there are", pool.slices, POOL_COLOUR),
        ("asked for", pool.asked, BLUE),
        ("asked for in vain", pool.short, RED),
    ):
        figure.add_scatter(
            x=_times(minutes_s),
            y=values,
            mode="lines",
            line={"shape": "hv", "color": colour, "width": 1.8},
            name=name,
        )
    figure.update_yaxes(rangemode="tozero", title_text="slices")
    return _styled(figure, height=260)


def _day(day: Replayed) -> list[str]:
    """Return the ends of the time that is drawn, the same in every picture."""
    return _times(np.array([day.minutes_s[0], day.minutes_s[-1] + MINUTE_S]))


def _times(at_s: np.ndarray) -> list[str]:
    return [datetime.fromtimestamp(float(s), UTC).strftime("%Y-%m-%d %H:%M:%S") for s in at_s]


def _rounded(values: np.ndarray) -> list[float | None]:
    """Return values as the page needs them: four digits, unknown as a gap."""
    return [None if np.isnan(value) else round(float(value), 4) for value in values]


def _styled(figure: go.Figure, *, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 90, "r": 20, "t": 60, "b": 40},
        legend={"orientation": "h", "x": 0, "y": 1 + 30 / height, "yanchor": "bottom"},
        hovermode="closest",
    )
    figure.update_xaxes(tickformat="%H:%M")
    return figure
