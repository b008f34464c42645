"""What replicas carry: by a prior, by a benchmark, by what engines showed, and over a plane of objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.workload import Mode
from foreslice.api.capacity import capacity_of
from foreslice.clock import BUCKET_LAG_S
from foreslice.compose import make_loop
from foreslice.replay import inside
from foreslice.report.ink import BLUE, GREEN, INK, ORANGE, inked
from foreslice.rules import Rules
from foreslice.tick import Tick
from predictor.forecasters.hold import Hold
from predictor.ports import BUCKET_S
from simulator.tenants import shipped_tenants
from simulator.traffic import DAY_S
from simulator.world import World, WorldSpec

SAMPLE_BENCHMARK = str(files("foreslice").joinpath("lab", "data", "benchmark.csv"))
"""A simulated benchmark of qwen2.5-7b-bf16 on a whole H100, as `foreslice capacity --bench` reads it."""

_TICK_S, _HISTORY_S, _DAY = 10, DAY_S, 10


def both(prior: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """Return two answers of `capacity_of` side by side.

    Columns: `shape`, `prior`, `prior_low`, `measured`, `measured_low`, all in requests/s.
    """
    columns = {"requests_per_s": "", "requests_per_s_low": "_low"}
    joined = prior[["shape"]].copy()
    for name, table in (("prior", prior), ("measured", measured)):
        for column, suffix in columns.items():
            joined[f"{name}{suffix}"] = table[column]
    return joined[prior["obstacle"] == ""]


def both_figure(sizes: pd.DataFrame) -> go.Figure:
    """Return what `both` says, with what is exceeded with 90 % confidence as a mark on each bar."""
    figure = go.Figure()
    for name, colour in (("prior", ORANGE), ("measured", BLUE)):
        figure.add_bar(
            x=sizes["shape"],
            y=sizes[name],
            name=name,
            marker_color=colour,
            error_y={
                "type": "data",
                "symmetric": False,
                "array": np.zeros(len(sizes)),
                "arrayminus": sizes[name] - sizes[f"{name}_low"],
                "color": INK,
            },
        )
    figure.update_yaxes(title_text="requests/s of one replica", rangemode="tozero")
    return inked(figure, title="What a replica carries inside the SLO; whisker: at least, 90 % confidence")


def learned(hours: float = 1.0, seed: int = 1) -> pd.DataFrame:
    """Return what engines showed in a simulated fleet, a row a workload and shape that carried load.

    Every minute the service reads the growth of latency histograms of each ready pod, and fits a law.
    Columns: `workload`, `shape`, `before` and `after` (work of a replica at its lower bound, in full
    reference replicas: by the prior, and by what was seen), `source` (fitted, or corrected where loads were
    too alike to tell more).
    """
    tenants = shipped_tenants(CapacityModel([H100_80GB]), seed)
    world = World(WorldSpec(tenants, start_day=_DAY), seed)
    first, last = _ticks(world, round(hours * 3600))
    rows = []
    for key in last.outlooks:
        standing = last.fleet.standing(key) if last.fleet is not None else None
        for shape in standing.ready.counts if standing is not None else ():
            before, after = (one.outlooks[key].offers.by_shape.get(shape) for one in (first, last))
            if before is not None and after is not None:
                rows.append((key.name, str(shape), before.work, after.work, str(after.source)))
    return pd.DataFrame(rows, columns=["workload", "shape", "before", "after", "source"])


def learned_figure(found: pd.DataFrame) -> go.Figure:
    """Return what `learned` says: by the prior, and by what engines showed."""
    names = found["workload"] + " on " + found["shape"]
    figure = go.Figure()
    for column, name, colour in (
        ("before", "by the prior", ORANGE),
        ("after", "by what engines showed", GREEN),
    ):
        figure.add_bar(y=names, x=found[column], name=name, marker_color=colour, orientation="h")
    figure.update_xaxes(title_text="work of a replica, lower bound (1 = a full reference replica)")
    figure.update_yaxes(autorange="reversed")
    return inked(figure, title="Learnt from histograms of simulated engines", height=120 + 46 * len(found))


def surface(
    model: str,
    gpu: str,
    shapes: Sequence[str],
    ttft_ms: Sequence[int],
    itl_ms: Sequence[int],
    tokens: tuple[float, float],
) -> pd.DataFrame:
    """Return what a replica carries by shape and objective, at the lower bound.

    Columns: `shape`, `ttft_ms`, `itl_ms`, `requests_per_s`.

    Args:
        model: As in `capacity_of`.
        gpu: Likewise.
        shapes: Shapes of it.
        ttft_ms: Times to first token of 95 % of requests.
        itl_ms: Mean times between tokens of 95 % of requests.
        tokens: Mean prompt and output of a request.
    """
    rows = [
        (shape, ttft, itl, _low(model, gpu, shape, ttft, itl, tokens))
        for shape in shapes
        for ttft in ttft_ms
        for itl in itl_ms
    ]
    return pd.DataFrame(rows, columns=["shape", "ttft_ms", "itl_ms", "requests_per_s"])


def surface_figure(rates: pd.DataFrame) -> go.Figure:
    """Return a map of `surface` for each shape; one scale of colours for all."""
    shapes = list(dict.fromkeys(rates["shape"]))
    figure = make_subplots(rows=1, cols=len(shapes), subplot_titles=shapes, shared_yaxes=True)
    for column, shape in enumerate(shapes, start=1):
        table = rates[rates["shape"] == shape].pivot_table(
            index="ttft_ms", columns="itl_ms", values="requests_per_s"
        )
        figure.add_heatmap(
            x=[f"{itl}" for itl in table.columns],
            y=[f"{ttft}" for ttft in table.index],
            z=table.to_numpy(),
            coloraxis="coloraxis",
            texttemplate="%{z:.1f}",
            hovertemplate="TTFT %{y} ms, ITL %{x} ms: %{z:.2f} requests/s<extra></extra>",
            row=1,
            col=column,
        )
    figure.update_xaxes(title_text="ITL, ms")
    figure.update_yaxes(title_text="TTFT, ms", col=1)
    figure.update_layout(coloraxis={"colorscale": "Cividis", "colorbar": {"title": "requests/s"}})
    return inked(figure, title="What an objective leaves of a replica (p95, lower bound)", height=380)


def _low(model: str, gpu: str, shape: str, ttft_ms: int, itl_ms: int, tokens: tuple[float, float]) -> float:
    answer = capacity_of(
        model,
        gpu,
        shape=shape,
        prompt_tokens=tokens[0],
        output_tokens=tokens[1],
        ttft_p95=f"{ttft_ms}ms",
        itl_p95=f"{itl_ms}ms",
    )
    return float(answer["requests_per_s_low"].iloc[0])


def _ticks(world: World, length_s: int) -> tuple[Tick, Tick]:
    """Return the first tick that knows what is offered, and the last, of the loop on a simulated fleet."""
    workloads = tuple(replace(tenant.workload, mode=Mode.FULL) for tenant in world.spec.tenants)
    loop = make_loop(
        workloads, inside(world), Timing(), lambda one: Hold(one.key), _HISTORY_S, Rules(acting=True)
    )
    loop.forecast()
    first = last = loop.tick()
    for at_s in range(world.start_s + _TICK_S, world.start_s + length_s + 1, _TICK_S):
        world.advance_to(at_s)
        last = loop.tick()
        if at_s % BUCKET_S == BUCKET_LAG_S:
            loop.forecast()
            loop.plan()
    return first, last
