"""What an SLO and a tier cost on recorded demand, before they are set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from fleet.errors import InputError
from fleet.shape import shapes_of, slice_of
from fleet.workload import Tier
from foreslice.api.capacity import capacity_of
from foreslice.api.demand import series_of
from foreslice.api.replay import ReplayResult
from foreslice.backtesting import scored
from foreslice.report.ink import BLUE, GREEN, INK, ORANGE, PINK, SKY, inked
from foreslice.settings.durations import seconds
from foreslice.settings.recipe_file import shipped_recipes
from foreslice.sizing.terms import board_named
from predictor.backtest import OURS, Told
from predictor.ports import Floats
from predictor.recipe import Question

_HOURS_A_DAY = 24
_TEST_FRACTION = 0.3
_STATIC = 0.999
_QUANTILES = tuple(sorted(tier.demand_quantile for tier in Tier))


def bill(
    demand: pd.DataFrame,
    model: str,
    gpu: str,
    *,
    ttft: Sequence[str] = ("500ms", "1s", "2s"),
    itl: str = "80ms",
    window: str = "30m",
    price: float = 1.0,
) -> pd.DataFrame:
    """Return the bill of each SLO and tier for one workload, on the last 30 % of its time.

    Each step, replicas of one shape are provided for the tier's quantile of the peak of the window ahead, by
    forecasts that know nothing later; the shape is the cheapest. Room that placement wastes comes on top.
    Columns: `ttft`, `tier`, `shape`, `gpu_hours` (a day), `static_gpu_hours` (sized once for the 99.9 %
    quantile), `price` (a day), `short` (share of windows whose peak was above what was provided).

    Args:
        demand: Rows of one workload, as `read_demand` returns them.
        model: Name in the catalogue.
        gpu: Card.
        ttft: Times to first token of 95 % of requests to try.
        itl: Mean time between tokens of 95 % of requests.
        window: How far ahead capacity is provided.
        price: Of a card-hour.

    `InputError` where the demand is not that of one workload, or too short, or nothing carries the model.
    """
    told, tokens = _told(demand, window), mean_tokens(demand)
    rows = []
    for limit in ttft:
        carried = _carried(model, gpu, limit, itl, tokens)
        for tier in Tier:
            place = _QUANTILES.index(tier.demand_quantile)
            said, came = told.said[OURS][told.is_scored, place], told.came[told.is_scored]
            shape, hours, provided = _cheapest(said, carried)
            _, static_hours, _ = _cheapest(np.full(1, np.quantile(came, _STATIC)), carried)
            short = float((came > provided).mean())
            rows.append((limit, str(tier), shape, hours, static_hours, price * hours, short))
    columns = ["ttft", "tier", "shape", "gpu_hours", "static_gpu_hours", "price", "short"]
    return pd.DataFrame(rows, columns=columns)


def bill_figure(bills: pd.DataFrame) -> go.Figure:
    """Return GPU-hours a day by SLO and tier, and what static sizing takes."""
    figure = go.Figure()
    for tier, colour in zip(dict.fromkeys(bills["tier"]), (SKY, BLUE, PINK), strict=False):
        part = bills[bills["tier"] == tier]
        figure.add_bar(
            x=part["ttft"],
            y=part["gpu_hours"],
            name=f"{tier}",
            marker_color=colour,
            customdata=np.column_stack([part["shape"], (100 * part["short"]).round(2)]),
            hovertemplate="%{x}: %{y:.2f} GPU-hours a day of %{customdata[0]}, "
            "short in %{customdata[1]} % of windows<extra></extra>",
        )
    static = bills.drop_duplicates("ttft")
    figure.add_scatter(
        x=static["ttft"],
        y=static["static_gpu_hours"],
        mode="markers",
        marker={"symbol": "line-ew", "size": 60, "line": {"width": 3, "color": INK}},
        name="sized once, for the 99.9 % quantile",
    )
    figure.update_xaxes(title_text="time to first token, p95", type="category")
    figure.update_yaxes(title_text="GPU-hours a day", rangemode="tozero")
    return inked(figure, title="What an SLO and a tier cost")


def replay_table(results: Mapping[str, ReplayResult]) -> pd.DataFrame:
    """Return what policies took and delivered, a row each."""
    rows = [(name, r.gpu_hours, r.attainment, r.unserved_share, r.changes) for name, r in results.items()]
    return pd.DataFrame(rows, columns=["policy", "gpu_hours", "attainment", "unserved_share", "changes"])


def replay_figure(results: Mapping[str, ReplayResult], workload: str) -> go.Figure:
    """Return the work of one workload and what was ready to carry it, under each policy that has a loop."""
    figure = go.Figure()
    for (name, result), colour in zip(results.items(), (GREEN, ORANGE, PINK, SKY), strict=False):
        minutes = result.minutes[result.minutes["workload"] == workload].dropna(subset=["capacity"])
        figure.add_scatter(
            x=minutes["time"],
            y=minutes["capacity"],
            name=f"ready: {name}",
            line={"color": colour, "shape": "hv", "width": 1.6},
        )
    minutes = next(iter(results.values())).minutes
    asked = minutes[minutes["workload"] == workload]
    figure.add_scatter(
        x=asked["time"], y=asked["work"], name="work offered", line={"color": BLUE, "width": 1.2}
    )
    figure.update_xaxes(title_text="time, UTC")
    figure.update_yaxes(title_text="full reference replicas", rangemode="tozero")
    return inked(figure, title=f"{workload}, on a simulated fleet", height=380)


def _told(demand: pd.DataFrame, window: str) -> Told:
    series = series_of(demand)
    if len(series) != 1:
        fix = "take the rows of one workload"
        raise InputError(f"holds {len(series)} workloads", where="table", fix=fix)
    question = Question((int(seconds(window)),), _QUANTILES)
    runs = [(series[0], round(len(series[0].series) * (1 - _TEST_FRACTION)))]
    done, _ = scored(runs, question, shipped_recipes(), lambda *_: None)
    told = done[0].told[question.windows_s[0]]
    if not told.is_scored.any():
        raise InputError("has no window that can be scored", where="table", fix="give more days of demand")
    return told


def mean_tokens(demand: pd.DataFrame) -> tuple[float, float]:
    """Return mean prompt and output of a request, weighted by requests; usual ones where none are known."""
    known = demand.dropna(subset=["requests_per_s", "prompt_tokens", "output_tokens"])
    weight = known["requests_per_s"].to_numpy()
    if not weight.sum() > 0:
        return 1024.0, 256.0
    prompt, output = (
        float(np.average(known[name], weights=weight)) for name in ("prompt_tokens", "output_tokens")
    )
    return prompt, output


def _carried(
    model: str, gpu: str, ttft: str, itl: str, tokens: tuple[float, float]
) -> dict[str, tuple[float, float]]:
    """Return by shape what a replica carries at least, requests/s, and its share of a card."""
    board = board_named(gpu)
    sizes = capacity_of(
        model, gpu, prompt_tokens=tokens[0], output_tokens=tokens[1], ttft_p95=ttft, itl_p95=itl
    ).set_index("shape")["requests_per_s_low"]
    shares = {shape.name: slice_of(board, shape).gpu_share for shape in shapes_of(board)}
    found = {name: (float(sizes[name]), share) for name, share in shares.items() if sizes[name] > 0}
    if not found:
        raise InputError(f"nothing of {gpu} carries {model} inside {ttft}", where="bill", fix="relax the SLO")
    return found


def _cheapest(asked: Floats, carried: Mapping[str, tuple[float, float]]) -> tuple[str, float, Floats]:
    """Return the shape that takes least for a course of demand, its card-hours a day, what it provides."""
    courses = {}
    for name, (rate, share) in carried.items():
        replicas = np.maximum(np.ceil(asked / rate), 1.0)
        courses[name] = (_HOURS_A_DAY * share * float(replicas.mean()), replicas * rate)
    name = min(courses, key=lambda one: courses[one][0])
    return name, *courses[name]
