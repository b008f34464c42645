"""What an SLO and a tier cost on recorded demand, before they are set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import yaml

from fleet.errors import InputError
from fleet.shape import shapes_of, slice_of
from fleet.workload import Tier
from foreslice.api.capacity import capacity_of
from foreslice.api.demand import series_of
from foreslice.backtesting import scored
from foreslice.proof.advice import advice, verdict
from foreslice.proof.replay import ALWAYS, replayed
from foreslice.proof.sweep import OURS as OURS_REPLAYED
from foreslice.report.ink import BLUE, INK, PINK, SKY, inked
from foreslice.settings.durations import seconds
from foreslice.settings.recipe_file import shipped_recipes
from foreslice.sizing.terms import board_named
from predictor.backtest import OURS, Told
from predictor.ports import Floats
from predictor.recipe import Question

_HOURS_A_DAY = 24
_TEST_FRACTION = 0.3
_STATIC = 0.999
_UNSERVED = 0.01
_TOKENS = ("prompt_tokens", "output_tokens")
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


@dataclass(frozen=True, slots=True)
class Worth:
    """What came of a replay of your own demand.

    Attributes:
        policies: A row each: `policy`, `gpu_hours` over the days that are scored (NaN = it never left so
            little unserved), `unserved` share of the work, `utilisation`, `changes` a day, `starts`.
        verdict: What the forecast is worth, with its interval.
        advice: What this fleet should do, one line each.
    """

    policies: pd.DataFrame
    verdict: str
    advice: tuple[str, ...]


def replay(
    demand: pd.DataFrame,
    model: str,
    gpu: str,
    *,
    ttft: str = "1s",
    itl: str = "80ms",
    lag: str = "15m",
    scored_days: int = 3,
) -> Worth:
    """Return what your own demand would have taken under each policy, all at their best (docs/replay.md).

    Cards and engines are computed, not run: no figure is a measurement of hardware.

    Args:
        demand: As `read_demand` returns it.
        model: Name in the catalogue; all workloads serve it.
        gpu: Card.
        ttft: Time to first token of 95 % of requests.
        itl: Mean time between tokens of 95 % of requests.
        lag: From an order to a replica that serves.
        scored_days: End of the time that is scored; what is before trains.

    `InputError` where the demand is too short, or nothing carries the model.
    """
    slo = {"ttft": {"p95": ttft}, "itl": {"p95": itl}}
    fleet = {
        "boards": [gpu],
        "lags": [lag],
        "unserved": _UNSERVED,
        "scored": f"{scored_days}d",
        "workloads": [{"match": "*", "model": model, "slo": slo}],
    }
    columns = ["time", "workload", "requests_per_s", *_TOKENS]
    trace = demand[[name for name in columns if name not in _TOKENS or demand[name].notna().all()]]
    with TemporaryDirectory() as folder:
        files = Path(folder, "trace.parquet"), Path(folder, "fleet.yaml")
        trace.rename(columns={"requests_per_s": "rate"}).to_parquet(files[0], index=False)
        files[1].write_text(yaml.safe_dump(fleet), encoding="utf-8")
        done = replayed(*files, ALWAYS, seed=1)
    (told,) = done.told
    rows = [
        (name, told.run.hours(name), 1 - one.attainment, one.utilisation, one.changes_per_day, one.starts)
        for name, one in told.figures.items()
    ]
    names = ["policy", "gpu_hours", "unserved", "utilisation", "changes", "starts"]
    return Worth(
        pd.DataFrame(rows, columns=names),
        verdict(told.run),
        tuple(advice([one.run for one in done.told], _UNSERVED)),
    )


def replay_figure(worth: Worth) -> go.Figure:
    """Return the GPU-hours that each policy took."""
    known = worth.policies.dropna(subset=["gpu_hours"])
    figure = go.Figure(
        go.Bar(
            x=known["gpu_hours"],
            y=known["policy"],
            orientation="h",
            marker_color=[BLUE if name == OURS_REPLAYED else SKY for name in known["policy"]],
            customdata=100 * known["unserved"],
            hovertemplate="%{y}: %{x:.1f} GPU-hours, %{customdata:.2f} % unserved<extra></extra>",
        )
    )
    figure.update_xaxes(title_text="GPU-hours, over the days that are scored")
    figure.update_yaxes(autorange="reversed")
    return inked(figure, title="Your own demand under each policy, at its best", height=420)


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
