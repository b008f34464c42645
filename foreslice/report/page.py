"""Writes the page of a replay."""

from __future__ import annotations

from collections.abc import Sequence

from foreslice.replay import Day
from foreslice.replayed import Replayed
from foreslice.report.advice import advice
from foreslice.report.figures import (
    cards_figure,
    cards_in_use_figure,
    demand_figure,
    pool_figure,
    steps_figure,
)
from foreslice.report.html import div, rendered
from foreslice.report.pool import USERS_HEAD, user_rows
from foreslice.report.table import (
    COSTS_HEAD,
    TENANTS_HEAD,
    Tenants,
    cost_rows,
    disclosure,
    head,
    readings,
    rows,
    tenant_rows,
)
from simulator.traffic import DAY_S

FORECASTER = TENANTS_HEAD.index("forecaster")


def page(days: Sequence[Replayed], tenants: Tenants, day: Day) -> str:
    """Return the page as one HTML text, with everything that it needs inside; the first day is drawn."""
    ours = days[0]
    told = tenant_rows(ours, tenants)
    return rendered(
        "foreslice.report",
        "page.html.j2",
        disclosure=disclosure(day),
        span="One day" if day.length_s == DAY_S else f"{day.length_s / DAY_S:.3g} days",
        seed=day.seed,
        cards=f"{ours.cards} {ours.board}",
        lead=f"{day.timing.lead_s:.0f} s",
        table={"head": head(days), "rows": rows(days)},
        costs={"head": COSTS_HEAD, "rows": cost_rows(days)},
        reading=readings(days, day),
        advice=advice(days),
        tenants_head=TENANTS_HEAD[:-1],
        tenants=[row[:-1] for row in told],
        whys=[(row[0], row[FORECASTER], row[-1]) for row in told],
        drawn=ours.policy,
        pools=[
            {
                "policy": one.policy,
                "figure": div(pool_figure(one.minutes_s, one.pool), f"pool-{number}"),
                "head": USERS_HEAD,
                "rows": user_rows(one.pool),
            }
            for number, one in enumerate(days)
            if one.pool is not None
        ],
        figures={
            "cards_in_use": div(cards_in_use_figure(days), "cards-in-use"),
            "demand": div(demand_figure(ours), "demand"),
            "cards": div(cards_figure(ours), "cards"),
            "steps": div(steps_figure(ours), "steps"),
        },
    )
