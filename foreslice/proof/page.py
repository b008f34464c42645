"""The page of a replay: what each policy costs at what it leaves unserved, and where the rest goes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import plotly.graph_objects as go

from foreslice.proof.advice import advice, verdict
from foreslice.proof.course import QUANTILES
from foreslice.proof.output import COSTS, HEAD, Told, chosen_after, costs, rows
from foreslice.proof.scene import Scene
from foreslice.proof.split import Split, by_kind, split_of, worst_hours
from foreslice.proof.sweep import BOUND, FIXED, OFF, ORACLE, OURS, Run
from foreslice.proof.trail import Trail, trail_of
from foreslice.report.html import div, rendered
from foreslice.report.ink import BLUE, GREEN, INK, ORANGE, PINK, RED, SKY, YELLOW
from foreslice.settings.durations import written
from predictor.steps import DAY_S

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
"""Share below which nothing is told apart: the axis of what goes unserved is logarithmic."""

AROUND = 12.0
"""Times what ours left unserved that the picture of costs reaches to either side of it."""

DEAREST = 4.0
"""Times the oracle at which it ends, if not before."""

MOST_DRAWN = 11
"""Workloads that have a colour of their own; the others are one."""

MOST_FANS = 3
"""Workloads whose forecasts are drawn."""

DATED_S = 365 * DAY_S
"""Times below count from some begin, and are no dates."""

REFERENCES = {OFF, ORACLE, BOUND}
"""Policies whose lines are drawn broad: others are read against them."""


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
        costs_head=COSTS,
        quantiles=", ".join(f"{quantile:g}" for quantile in QUANTILES),
        lags=[_lag(one, scene) for one in told],
        advice=advice([one.run for one in told], unserved),
    )


def _lag(told: Told, scene: Scene) -> dict[str, object]:
    run = told.run
    trail, name = trail_of(run, OURS), f"{run.grid.lag_s:.0f}"
    return {
        "lag": written(run.grid.lag_s),
        "verdict": verdict(run),
        "rows": rows(told),
        "costs": costs(told),
        "pareto": div(_pareto(told), f"pareto-{name}"),
        "map": div(_map(run, trail), f"map-{name}"),
        "fans": [
            {"of": run.courses[at].part.name, "figure": div(_fan(run, trail, at), f"fan-{name}-{at}")}
            for at in _shown(run, trail)
        ],
        "by_rule": any(not choice.uses_forecast for choice in run.choices),
        "choices": _choices(run),
        "split": _split(split_of(run, told.figures[OURS]), run.hours(OURS) or 1.0),
        "worst": [
            (_when(scene, one.hour), one.workload, f"{one.share:.0%}", one.because)
            for one in worst_hours(run, trail)
        ],
    }


def _when(scene: Scene, hour: int) -> str:
    """Return an hour after the first scored step, with its date where the trace has dates."""
    if scene.start_s < DATED_S:
        return str(hour)
    return f"{hour} ({datetime.fromtimestamp(scene.test_s + 3600 * hour, UTC):%Y-%m-%d %H:%M})"


def _shown(run: Run, trail: Trail) -> list[int]:
    """Return the largest workload, and those of which most went unserved."""
    sizes = [course.demand.mean() / course.part.whole.work for course in run.courses]
    lacked = [float(one.sum()) for one in by_kind(run, trail).values()]
    worst = sorted(range(len(lacked)), key=lambda at: -lacked[at])
    return list(dict.fromkeys([int(np.argmax(sizes)), *worst]))[:MOST_FANS]


def _choices(run: Run) -> list[tuple[str, str, str]]:
    return [
        (
            f"{(choice.block - run.grid.first_block) / run.grid.by_day:g}",
            str(choice.setting),
            f"{choice.setting.say:.0%}",
        )
        for choice in run.choices
    ]


def _split(split: Split, spent: float) -> list[tuple[str, str, str]]:
    parts = (
        ("demand: known until an order is ready", split.demand),
        ("delay: orders ready at once, without a forecast", split.delay),
        ("demand and delay: known, and neither lag nor quiet time", split.limits),
        ("capacity: as expected instead of its lower bound", split.capacity),
        ("packing: slices of cards paid for, not whole cards", split.packing),
    )
    return [
        (name, "-", "not to be had at so little unserved")
        if saved is None
        else (name, f"{saved:.1f}", f"{saved / spent:.1%}")
        for name, saved in parts
    ]


def _pareto(told: Told) -> go.Figure:
    run, figure = told.run, go.Figure()
    known = run.hours(ORACLE) or 1.0
    left = max(run.unserved, LEAST_UNSERVED)
    ends = max(left / AROUND, LEAST_UNSERVED), min(left * AROUND, 1.0)
    highest = 1.0
    for name, colour in zip(
        [name for name in told.figures if len(run.books[name].knobs) > 1], COLOURS, strict=False
    ):
        shares, hours = run.curve(name)
        figure.add_scatter(
            x=np.maximum(shares, LEAST_UNSERVED),
            y=hours / known,
            name=name,
            mode="lines+markers",
            marker={"size": 3},
            line={"color": colour, "width": 3 if name in REFERENCES else 1.2},
        )
        within = hours[(shares >= ends[0]) & (shares <= ends[1])] / known
        highest = max([highest, *within.tolist()])
    for name, symbol in ((FIXED, "cross-open"), (OURS, "x")):
        total = run.books[name].total
        figure.add_scatter(
            x=[max(total.lacked.sum() / total.asked.sum(), LEAST_UNSERVED)],
            y=[total.held.sum() * run.grid.step_s / 3600 / known],
            name=name,
            mode="markers",
            marker={"size": 13, "symbol": symbol, "color": INK, "line": {"width": 2, "color": INK}},
        )
        highest = max(highest, float(total.held.sum()) * run.grid.step_s / 3600 / known)
    figure.update_xaxes(
        type="log",
        title="share of the work unserved",
        tickformat="~%",
        dtick="D2",
        range=[np.log10(one) for one in ends],
    )
    figure.update_yaxes(title="GPU-hours over the oracle's", range=[0, min(DEAREST, 1.05 * highest)])
    return _plain(figure, 430)


def _map(run: Run, trail: Trail) -> go.Figure:
    figure, every = go.Figure(), max(1, len(trail.held) // POINTS)
    hours = np.arange(0, len(trail.held), every) * run.grid.step_s / 3600
    used = trail.held * trail.cards
    ranked = np.argsort(-used.sum(axis=0), kind="stable").tolist()
    drawn = [(run.courses[at].part.name, used[::every, at]) for at in ranked[:MOST_DRAWN]]
    if others := ranked[MOST_DRAWN:]:
        drawn.append((f"{len(others)} others", used[::every, others].sum(axis=1)))
    for (name, cards), colour in zip(drawn, COLOURS, strict=False):
        figure.add_scatter(
            x=hours,
            y=cards,
            name=name,
            stackgroup="cards",
            line={"width": 0.4, "color": colour, "shape": "hv"},
        )
    figure.update_xaxes(title=SINCE)
    figure.update_yaxes(title="cards", rangemode="tozero")
    return _plain(figure, 340)


SINCE = "hours since the first scored step"


def _fan(run: Run, trail: Trail, at: int) -> go.Figure:
    course, test, step_s = run.courses[at], run.grid.test, run.grid.step_s
    every = max(1, len(trail.held) // POINTS)
    hours = np.arange(0, len(trail.held), every) * step_s / 3600
    figure = go.Figure()
    low, *higher = (course.ahead[which, test:][::every] for which in range(len(QUANTILES)))
    figure.add_scatter(x=hours, y=low, line={"width": 0}, showlegend=False, hoverinfo="skip")
    for quantile, values, share in zip(QUANTILES[1:], higher, (0.5, 0.33, 0.2), strict=True):
        figure.add_scatter(
            x=hours,
            y=values,
            fill="tonexty",
            name=f"forecast to q{quantile:g}",
            line={"width": 0},
            fillcolor=f"rgba(230,159,0,{share})",
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=hours, y=course.demand[test:][::every], name="work", line={"width": 1, "color": BLUE}
    )
    figure.add_scatter(
        x=hours,
        y=trail.ready[::every, at] * trail.piece[at],
        name="ready",
        line={"width": 1.4, "color": GREEN, "shape": "hv"},
    )
    for (begins, is_forecast), ends in _turns(run, len(trail.held)):
        if not is_forecast:
            figure.add_vrect(
                x0=begins * step_s / 3600, x1=ends * step_s / 3600, fillcolor=INK, opacity=0.12, line_width=0
            )
    figure.update_xaxes(title=SINCE)
    figure.update_yaxes(title="work, in whole reference GPUs", rangemode="tozero")
    return _plain(figure, 340)


def _turns(run: Run, steps: int) -> list[tuple[tuple[int, bool], int]]:
    """Return the first scored step of each choice, whether a forecast decided from it on, and its end."""
    grid = run.grid
    starts = [((c.block - grid.first_block) * grid.block, c.uses_forecast) for c in run.choices]
    return list(zip(starts, [*(start for start, _ in starts[1:]), steps], strict=True))


def _plain(figure: go.Figure, height: int) -> go.Figure:
    figure.update_layout(
        height=height,
        margin={"l": 10, "r": 10, "t": 10, "b": 40},
    )
    return figure
