"""Writes the page of a replay."""

from __future__ import annotations

from collections.abc import Sequence

from foreslice.replay import Day, Replayed
from foreslice.report.figures import cards_figure, cards_in_use_figure, demand_figure, steps_figure
from foreslice.report.html import div, rendered
from foreslice.report.table import HEAD, TENANTS_HEAD, Tenants, disclosure, readings, rows, tenant_rows
from simulator.traffic import DAY_S


def page(days: Sequence[Replayed], tenants: Tenants, day: Day) -> str:
    """Return the page as one HTML text, with everything that it needs inside; the first day is ours."""
    ours = days[0]
    return rendered(
        "foreslice.report",
        "page.html.j2",
        disclosure=disclosure(day),
        span="One day" if day.length_s == DAY_S else f"{day.length_s / DAY_S:.3g} days",
        seed=day.seed,
        cards=f"{ours.cards} {ours.board}",
        lead=f"{day.timing.lead_s:.0f} s",
        table={"head": HEAD, "rows": rows(days)},
        reading=readings(days, day),
        tenants_head=TENANTS_HEAD,
        tenants=tenant_rows(ours, tenants),
        figures={
            "cards_in_use": div(cards_in_use_figure(days), "cards-in-use"),
            "demand": div(demand_figure(ours), "demand"),
            "cards": div(cards_figure(ours), "cards"),
            "steps": div(steps_figure(ours), "steps"),
        },
    )
