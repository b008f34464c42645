"""The page of a pool: who sleeps together, who used it, when it was short, and what it saves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from foreslice.proof.beside import Found
from foreslice.proof.pool_output import HEAD, NOTE, row
from foreslice.proof.pooled import Pooled
from foreslice.proof.scene import Scene
from foreslice.report.html import div, rendered
from foreslice.report.ink import BLUE, GREEN, ORANGE, inked
from foreslice.settings.durations import written
from predictor.ports import Floats

POINTS = 400
"""Spans into which the scored time is cut in pictures."""

Told = Sequence[tuple[float, Sequence[Found]]]
"""By lag, seconds, every policy with a pool."""


def page(trace: str, scene: Scene, told: Told, asked: str) -> str:
    """Return the page as one HTML text with everything that it needs inside.

    Args:
        trace: What was played.
        scene: Its workloads.
        told: What came of it; the first policy of a lag is the one that is drawn.
        asked: What was asked for, one sentence.
    """
    names = [part.name for part in scene.parts]
    return rendered(
        "foreslice.report",
        "pool.html.j2",
        trace=trace,
        workloads=len(names),
        days=f"{scene.days:.1f}",
        asked=asked,
        note=NOTE,
        head=HEAD,
        lags=[_lag(lag_s, found, names) for lag_s, found in told],
    )


def _lag(lag_s: float, found: Sequence[Found], names: Sequence[str]) -> dict[str, object]:
    pool = found[0].pooled
    wakes = pool.wakes_per_day
    return {
        "lag": written(lag_s),
        "rows": [row(one) for one in found],
        "baseline": found[0].baseline,
        "slices": div(_slices(pool), f"slices-{lag_s:.0f}"),
        "users": div(_users(pool, names), f"users-{lag_s:.0f}"),
        "groups": [
            (str(number), f"{wakes[list(group)].sum():.0f}", ", ".join(names[at] for at in group))
            for number, group in enumerate(pool.groups, start=1)
        ],
    }


def _slices(pool: Pooled) -> go.Figure:
    """Draw what was needed at most, what there was, and what was dealt out at most."""
    hours, every = _spans(pool)
    figure = go.Figure()
    for name, values, colour in (
        ("needed", pool.needed.sum(axis=1), ORANGE),
        ("dealt out", pool.gets.sum(axis=1), BLUE),
        ("there", pool.slices, GREEN),
    ):
        highest = np.maximum.reduceat(values, every)
        figure.add_scatter(
            x=hours, y=highest, name=name, mode="lines", line={"width": 1.4, "color": colour, "shape": "hv"}
        )
    figure.update_xaxes(title="hours since the first scored step")
    figure.update_yaxes(title="slices", rangemode="tozero")
    return inked(figure, height=320)


def _users(pool: Pooled, names: Sequence[str]) -> go.Figure:
    """Draw how many slices each workload had on average."""
    hours, every = _spans(pool)
    lengths = np.diff(np.append(every, len(pool.gets)))[:, np.newaxis]
    mean = np.add.reduceat(pool.gets, every, axis=0) / lengths
    figure = go.Figure(
        go.Heatmap(x=hours, y=list(names), z=mean.T, colorscale="Blues", colorbar={"title": "slices"})
    )
    figure.update_xaxes(title="hours since the first scored step")
    figure.update_yaxes(autorange="reversed", type="category")
    return inked(figure, height=max(240, 60 + 18 * len(names)))


def _spans(pool: Pooled) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return the hours at which spans begin, and their first steps."""
    every = np.arange(0, len(pool.slices), max(1, len(pool.slices) // POINTS))
    hours: Floats = every * pool.step_s / 3600
    return hours, every
