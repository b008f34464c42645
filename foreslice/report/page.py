"""Writes the page of a replay."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.resources import files

import plotly.graph_objects as go
import plotly.offline
from jinja2 import Environment, StrictUndefined

from foreslice.replay import Replayed
from foreslice.report.figures import cards_figure, cards_in_use_figure, demand_figure, steps_figure
from foreslice.report.table import DISCLOSURE, HEAD, TENANTS_HEAD, Tenants, readings, rows, tenant_rows


def page(days: Sequence[Replayed], tenants: Tenants, seed: int, lead_s: float) -> str:
    """Return the page as one HTML text, with everything that it needs inside; the first day is ours."""
    ours = days[0]
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(
        files("foreslice.report").joinpath("data/page.html.j2").read_text(encoding="utf-8")
    )
    return template.render(
        plotly_js=plotly.offline.get_plotlyjs(),
        disclosure=DISCLOSURE,
        seed=seed,
        cards=ours.cards,
        lead=f"{lead_s:.0f} s",
        version=version("foreslice"),
        table={"head": HEAD, "rows": rows(days)},
        reading=readings(days),
        tenants_head=TENANTS_HEAD,
        tenants=tenant_rows(ours, tenants),
        figures={
            "cards_in_use": _html(cards_in_use_figure(days), "cards-in-use"),
            "demand": _html(demand_figure(ours), "demand"),
            "cards": _html(cards_figure(ours), "cards"),
            "steps": _html(steps_figure(ours), "steps"),
        },
    )


def _html(figure: go.Figure, name: str) -> str:
    text: str = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"responsive": True, "displayModeBar": False},
    )
    return text
