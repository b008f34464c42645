"""A page with a bar for each card: what its tenants were granted of memory and compute, and what they use."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from fleet.sharing import Shared, taken_by
from foreslice.report.figures import FREE, PALETTE
from foreslice.report.html import div, rendered
from foreslice.sharing.gather import Sharing
from foreslice.sharing.output import gib, percent

_ROW_PX, _REST_PX = 54, 150
_NAME_LENGTH = 16
_COLUMNS = ("memory", "compute")


def page(sharing: Sharing) -> str:
    """Return the page as one HTML text, with everything that it needs inside."""
    return rendered(
        "foreslice.sharing",
        "page.html.j2",
        cards=sharing.cards,
        notes=sharing.notes,
        gib=gib,
        percent=percent,
        figure=div(figure(sharing.cards), "cards"),
    )


def figure(cards: Sequence[Shared]) -> go.Figure:
    """Return the bars: granted shares in colour, what is in use as a mark, nothing where nobody knows."""
    bars = make_subplots(
        rows=1, cols=2, shared_yaxes=True, horizontal_spacing=0.03, subplot_titles=["memory", "compute"]
    )
    rows = [f"{view.card.node} {view.card.uuid[:_NAME_LENGTH]}".strip() for view in cards]
    names = list(dict.fromkeys(tenant.hold.tenant for view in cards for tenant in view.tenants))
    for number, name in enumerate(names):
        _add_tenant(bars, name, PALETTE[number % len(PALETTE)], rows, cards)
    for column, used in enumerate((_memory_used, _compute_used), start=1):
        shares = {row: used(view) for row, view in zip(rows, cards, strict=True)}
        found = {row: share for row, share in shares.items() if share is not None}
        bars.add_scatter(
            x=list(found.values()),
            y=list(found),
            mode="markers",
            marker={
                "symbol": "diamond-tall",
                "size": 18,
                "color": "white",
                "line": {"width": 2, "color": "black"},
            },
            name="in use, the whole card",
            legendgroup="used",
            showlegend=column == 1,
            hovertemplate="in use: %{x:.0%}<extra></extra>",
            row=1,
            col=column,
        )
        bars.update_xaxes(range=[0, 1.02], tickformat=".0%", row=1, col=column)
    bars.update_yaxes(categoryorder="array", categoryarray=rows[::-1])
    bars.update_layout(
        barmode="stack",
        height=_ROW_PX * len(cards) + _REST_PX,
        margin={"l": 170, "r": 20, "t": 70, "b": 40},
        plot_bgcolor=FREE,
        legend={"orientation": "h", "x": 0, "y": -0.06, "yanchor": "top"},
    )
    return bars


def _add_tenant(
    bars: go.Figure, name: str, colour: str, rows: Sequence[str], cards: Sequence[Shared]
) -> None:
    for column, resource in enumerate(_COLUMNS):
        shares = [_granted(view, name, column) for view in cards]
        bars.add_bar(
            orientation="h",
            x=shares,
            y=rows,
            marker={"color": colour, "line": {"width": 1, "color": "white"}},
            name=name,
            legendgroup=name,
            showlegend=column == 0,
            hovertemplate=f"{name}: %{{x:.0%}} of the {resource}<extra></extra>",
            row=1,
            col=column + 1,
        )


def _granted(view: Shared, name: str, column: int) -> float | None:
    """Return what a tenant takes of a card, `None` where it is not on it or nobody knows."""
    hold = next((tenant.hold for tenant in view.tenants if tenant.hold.tenant == name), None)
    return None if hold is None else taken_by(hold, view.card)[column]


def _memory_used(view: Shared) -> float | None:
    if view.memory_used_bytes is None or not view.card.memory_bytes:
        return None
    return view.memory_used_bytes / view.card.memory_bytes


def _compute_used(view: Shared) -> float | None:
    return view.compute_used
