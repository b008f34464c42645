"""The command ``what-if``: the GPU bill of an SLO before it is set, on the demand that was recorded."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from capacity.estimate import CapacityModel
from fleet.errors import InputError
from fleet.workload import LatencyTarget, Slo, Workload
from foreslice import output
from foreslice.compose import Surroundings, surroundings_of
from foreslice.selection import load_settled
from foreslice.settings.load import workloads_of
from foreslice.settings.schema import Settings
from foreslice.show import console
from foreslice.sizing.bill import Bill, bill_of
from foreslice.sizing.show import spelled
from foreslice.sizing.terms import limit_s
from predictor.demand import HISTORY_SIGNALS, demand_history
from predictor.ports import BUCKET_S, DemandHistory

_PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99}
_TERMS = ("ttft", "itl", "e2e")
_MONTH_DAYS = 30
_FORM = "write it as chat.slo.ttft.p95=500ms,1s,2s"


@dataclass(frozen=True, slots=True)
class Change:
    """Limits to try for one objective of one workload.

    Attributes:
        workload: The workload as it is.
        slos: Its SLO with each of the limits.
    """

    workload: Workload
    slos: tuple[Slo, ...]


def run_what_if(config: Path, change: str, gpu_price: float | None, *, as_json: bool) -> None:
    """Print the GPU bill of the SLO that is set, and of each limit to try.

    Args:
        config: Settings file.
        change: What to try, `WORKLOAD.slo.TERM.PERCENTILE=LIMIT,LIMIT,...`.
        gpu_price: Price of a card-hour, in any currency; `None` = bills in card-hours only.
        as_json: Print it for a script.

    Raises:
        InputError: Settings or the change cannot be used.
        UnavailableError: The metrics source or the cluster did not answer.
    """
    settings = load_settled(config).model_copy(update={"acting": False})
    asked = change_of(change, workloads_of(settings))
    around = surroundings_of(settings, config.parent)
    try:
        with console(to_stderr=True).status("reading demand"):
            demand = _demand(around, asked.workload, settings.loop.history)
    finally:
        around.close()
    held_s = settings.loop.lead + settings.loop.dwell
    capacity = CapacityModel(around.boards, around.models)
    slos = list(dict.fromkeys((asked.workload.slo, *asked.slos)))
    bills = [
        (slo, bill_of(replace(asked.workload, slo=slo), around.boards, capacity, demand, held_s))
        for slo in slos
    ]
    if as_json:
        output.print_json(_as_json(asked.workload, demand, bills, gpu_price))
    else:
        console().print(_as_text(asked.workload, demand, bills, gpu_price, settings))


def change_of(text: str, workloads: Sequence[Workload]) -> Change:
    """Return what a change means for one of the workloads; `InputError` if it means nothing.

    A workload is named as in the settings, with its namespace before it where the name alone is not unique.
    """
    key, is_given, limits = text.partition("=")
    name, *path = key.rsplit(".", 3)
    allowed: tuple[Collection[str], ...] = (("slo",), _TERMS, _PERCENTILES)
    is_path = len(path) == len(allowed) and all(
        part in known for part, known in zip(path, allowed, strict=True)
    )
    if not is_given or not limits or not is_path:
        fix = f"{_FORM}; terms are {', '.join(_TERMS)}, percentiles {', '.join(_PERCENTILES)}"
        raise InputError(f"{text!r} sets no objective", where="--set", fix=fix)
    named = [w for w in workloads if name in {w.key.name, str(w.key)}]
    if len(named) != 1:
        problem = f"more than one workload is called {name}" if named else f"no workload is called {name}"
        known = ", ".join(str(w.key) for w in workloads)
        raise InputError(problem, where="--set", fix=f"name one of {known}")
    _, term, percentile = path
    targets = (
        LatencyTarget(_PERCENTILES[percentile], limit_s(term, one, "--set")) for one in limits.split(",")
    )
    return Change(named[0], tuple(replace(named[0].slo, **{term: target}) for target in targets))


def _demand(around: Surroundings, workload: Workload, history_s: float) -> DemandHistory:
    end_s = int(around.clock.now_s() // BUCKET_S) * BUCKET_S
    start_s = end_s - int(history_s // BUCKET_S) * BUCKET_S
    read = around.metrics.samples(HISTORY_SIGNALS, [workload.key], start_s, end_s)
    return demand_history(read[workload.key])


def _as_json(
    workload: Workload, demand: DemandHistory, bills: Sequence[tuple[Slo, Bill]], gpu_price: float | None
) -> dict[str, Any]:
    return {
        "workload": str(workload.key),
        "minutes": len(demand.requests_per_s),
        "minutes_known": int(np.isfinite(demand.requests_per_s).sum()),
        "gpu_price": gpu_price,
        "bills": [
            {
                "slo": spelled(slo),
                "is_set": slo == workload.slo,
                "obstacle": bill.obstacle,
                "shape": str(bill.shape) if bill.shape else None,
                "requests_per_s_low": bill.requests_per_s,
                "mean_replicas": bill.mean_replicas,
                "peak_replicas": bill.peak_replicas,
                "gpu_hours_per_day": {"following": bill.following_gpu_hours, "static": bill.static_gpu_hours},
            }
            for slo, bill in bills
        ],
    }


def _as_text(
    workload: Workload,
    demand: DemandHistory,
    bills: Sequence[tuple[Slo, Bill]],
    gpu_price: float | None,
    settings: Settings,
) -> RenderableType:
    table = Table(box=None, pad_edge=False)
    table.add_column("objectives")
    table.add_column("shape")
    for name in ("requests/s", "replicas", "GPU-hours a day", *(["price a month"] if gpu_price else [])):
        table.add_column(name, justify="right")
    for slo, bill in bills:
        label = f"{spelled(slo)}{' (set now)' if slo == workload.slo else ''}"
        if bill.shape is None:
            table.add_row(label, f"- {bill.obstacle}")
            continue
        hours = (bill.following_gpu_hours, bill.static_gpu_hours)
        prices = [" to ".join(f"{_MONTH_DAYS * h * gpu_price:,.0f}" for h in hours)] if gpu_price else []
        table.add_row(
            label,
            str(bill.shape),
            f"{bill.requests_per_s:.2f}",
            f"{bill.mean_replicas:.1f} to {bill.peak_replicas}",
            f"{hours[0]:.1f} to {hours[1]:.1f}",
            *prices,
        )
    minutes, days = len(demand.requests_per_s), settings.loop.history / 86400
    known = int(np.isfinite(demand.requests_per_s).sum())
    held_min = (settings.loop.lead + settings.loop.dwell) / 60
    notes = [
        f"{workload.key}: demand of {known} out of {minutes} minutes is known, the last {days:g} days.",
        f"From: replicas follow demand without an error, held for {held_min:.1f} min (lead and dwell).",
        "To: sized once, for the peak. A forecast lies between.",
        "Requests/s: what a replica sustains with 90 % confidence, from the prior, not measured.",
        "Room that first fit wastes, and whole nodes, come on top.",
    ]
    return Group(table, *(Text(note, style="dim") for note in notes))
