"""The page of a replay: what each policy costs at what it leaves unserved, and where the rest goes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from foreslice.proof.course import QUANTILES
from foreslice.proof.output import HEAD, Told, advice, chosen_after, rows, verdict
from foreslice.proof.scene import Scene
from foreslice.proof.split import Split, split_of, worst_hours
from foreslice.proof.sweep import FIXED, ORACLE, OURS, Run
from foreslice.proof.trail import Trail, trail_of
from foreslice.report.html import div, rendered
from foreslice.report.ink import BLUE, GREEN, ORANGE, PINK, RED, SKY, YELLOW
from foreslice.settings.durations import written

COLOURS = (
    BLUE,
    ORANGE,
    GREEN,
    RED,
    PINK,
    SKY,
    YELLOW,
    "#999999",
    "#882255",
    "#44AA99",
    "#AA4499",
    "#117733",
)
"""Okabe and Ito's colours, then Tol's."""

POINTS = 1500
"""Points of a line at most; a page stays small."""

LEAST_UNSERVED = 1e-4
"""Left end of the picture of costs: its axis is logarithmic."""

DEAREST = 4.0
"""Times the oracle at which a picture of costs ends."""


def page(trace: str, seed: int, scene: Scene, told: Sequence[Told], unserved: float) -> str:
    """Return the page as one HTML text with everything that it needs inside."""
    return rendered(
        "foreslice.report",
        "replay.html.j2",
        trace=trace,
        seed=seed,
        workloads=len(scene.parts),
        days=f"{scene.days:.1f}",
        unserved=f"{unserved:.2%}",
        chosen_after=chosen_after(told),
        head=HEAD,
        low=f"{QUANTILES[0]:g}",
        high=f"{QUANTILES[-1]:g}",
        lags=[_lag(one) for one in told],
        advice=advice(told, unserved),
    )


def _lag(told: Told) -> dict[str, object]:
    run = told.run
    trail, name = trail_of(run, OURS), f"{run.grid.lag_s:.0f}"
    largest = int(np.argmax([course.demand.mean() / course.part.whole.work for course in run.courses]))
    return {
        "lag": written(run.grid.lag_s),
        "verdict": verdict(run),
        "rows": rows(told),
        "pareto": div(_pareto(told), f"pareto-{name}"),
        "map": div(_map(run, trail), f"map-{name}"),
        "shown": run.courses[largest].part.name,
        "fan": div(_fan(run, trail, largest), f"fan-{name}"),
        "split": _split(split_of(run, told.figures[OURS]), run.hours(OURS) or 1.0),
        "worst": [
            (str(one.hour), one.workload, f"{one.share:.0%}", one.because) for one in worst_hours(run, trail)
        ],
    }


def _split(split: Split, spent: float) -> list[tuple[str, str, str]]:
    parts = (
        ("demand: known until an order is ready", split.demand),
        ("delay: orders ready at once, without a forecast", split.delay),
        ("demand known, and neither lag nor quiet time", split.limits),
        ("capacity: as expected instead of its lower bound", split.capacity),
        ("packing: parts of cards instead of whole ones", split.packing),
    )
    return [
        (name, "-", "not so cheaply") if saved is None else (name, f"{saved:.1f}", f"{saved / spent:.1%}")
        for name, saved in parts
    ]


def _pareto(told: Told) -> go.Figure:
    run, figure = told.run, go.Figure()
    known = run.hours(ORACLE) or 1.0
    for name, colour in zip(
        [name for name in told.figures if len(run.books[name].knobs) > 1], COLOURS, strict=False
    ):
        total = run.books[name].total
        shares = np.maximum(total.lacked.sum(axis=1) / total.asked.sum(), LEAST_UNSERVED)
        hours = total.held.sum(axis=1) * run.grid.step_s / 3600 / known
        order = np.lexsort((hours, shares))
        best = np.minimum.accumulate(hours[order])
        is_best = np.append(True, best[1:] < best[:-1])
        figure.add_scatter(
            x=shares[order][is_best],
            y=best[is_best],
            name=name,
            mode="lines+markers",
            marker={"size": 4},
            line={"color": colour, "width": 1.5},
        )
    for name, symbol in ((OURS, "x"), (FIXED, "cross")):
        total = run.books[name].total
        figure.add_scatter(
            x=[total.lacked.sum() / total.asked.sum()],
            y=[total.held.sum() * run.grid.step_s / 3600 / known],
            name=name,
            mode="markers",
            marker={
                "size": 13,
                "symbol": symbol,
                "color": "#000000",
                "line": {"width": 1, "color": "#ffffff"},
            },
        )
    figure.update_xaxes(type="log", title="share of the work unserved", tickformat=".2%")
    figure.update_yaxes(title="GPU-hours over those of the oracle", range=[0, DEAREST])
    return _plain(figure, 430)


def _map(run: Run, trail: Trail) -> go.Figure:
    figure, every = go.Figure(), max(1, len(trail.held) // POINTS)
    hours = np.arange(0, len(trail.held), every) * run.grid.step_s / 3600
    used = trail.held * trail.cards
    for at, course in enumerate(run.courses):
        figure.add_scatter(
            x=hours,
            y=used[::every, at],
            name=course.part.name,
            stackgroup="cards",
            line={"width": 0.4, "color": COLOURS[at % len(COLOURS)]},
        )
    figure.update_xaxes(title="hours since the first scored step")
    figure.update_yaxes(title="cards", rangemode="tozero")
    return _plain(figure, 340)


def _fan(run: Run, trail: Trail, at: int) -> go.Figure:
    course, test = run.courses[at], run.grid.test
    every = max(1, len(trail.held) // POINTS)
    hours = np.arange(0, len(trail.held), every) * run.grid.step_s / 3600
    low, high = (course.ahead[which, test:][::every] for which in (0, -1))
    figure = go.Figure()
    figure.add_scatter(x=hours, y=low, line={"width": 0}, showlegend=False, hoverinfo="skip")
    figure.add_scatter(
        x=hours, y=high, fill="tonexty", name="forecast", line={"width": 0}, fillcolor="rgba(230,159,0,0.35)"
    )
    figure.add_scatter(
        x=hours, y=course.demand[test:][::every], name="work", line={"width": 1, "color": COLOURS[0]}
    )
    figure.add_scatter(
        x=hours,
        y=trail.ready[::every, at] * trail.piece[at],
        name="ready",
        line={"width": 1.2, "color": COLOURS[2], "shape": "hv"},
    )
    figure.update_xaxes(title="hours since the first scored step")
    figure.update_yaxes(title="work, in whole reference GPUs", rangemode="tozero")
    return _plain(figure, 340)


def _plain(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
    )
    return figure
