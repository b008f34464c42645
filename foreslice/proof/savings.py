"""`foreslice savings`: what slices that move ahead would have saved on a user's own Prometheus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from fleet.errors import InputError
from fleet.workload import Workload
from foreslice import output, show
from foreslice.compose import surroundings_of
from foreslice.proof.advice import advice, verdict
from foreslice.proof.fleet import Terms
from foreslice.proof.insured import Insured, bed_of, insured, lines
from foreslice.proof.insured import as_json as as_json_pool
from foreslice.proof.output import Told
from foreslice.proof.scene import LEAST_BEFORE_S, scene_of
from foreslice.proof.spread import Saving, saved
from foreslice.proof.sweep import OFF, OURS, STATIC_GPU_TRAINED, Asked, Run, run
from foreslice.proof.trace import Trace
from foreslice.proof.trail import figures_of, trail_of
from foreslice.settings.durations import seconds
from foreslice.settings.load import load, workloads_of
from foreslice.settings.schema import Settings
from foreslice.settings.sources import PrometheusMetrics
from predictor.demand import HISTORY_SIGNALS, demand_history
from predictor.ports import BUCKET_S, DemandHistory, Floats
from predictor.sources.demand_table import TidySeries
from predictor.steps import DAY_S, StepSeries

UNSERVED = 0.01
"""Share of the work that may go unserved."""


def run_savings(config: Path, prometheus: str, last: str, *, as_json: bool) -> None:
    """Print what would have been saved, as a range.

    Args:
        config: Settings file.
        prometheus: Address to read from instead of the settings' metrics, empty = theirs.
        last: How far back, as a duration.
        as_json: Print it for a script.

    Raises:
        InputError: Settings or arguments cannot be used, or too little is recorded.
        UnavailableError: The metrics source or the cluster did not answer.
    """
    last_s = _last(last)
    settings = _reading_from(load(config), prometheus)
    with show.console(to_stderr=True).status("reading demand"):
        came = _played(settings, config.parent, last_s)
    savings = {name: saving(came, name) for name in (STATIC_GPU_TRAINED, OFF)}
    pools = insured(came, settings.standby.terms(), UNSERVED) if settings.standby is not None else {}
    told = Told(came, {OURS: figures_of(trail_of(came, OURS), came)})
    if as_json:
        output.print_json(as_json_of(told, savings, pools))
    else:
        pooled = [line for pool in pools.values() for line in lines(pool)]
        if settings.standby is not None and not pools:
            pooled = ["No namespace has two workloads that could share the standby pool of the settings."]
        _print(told, savings, pooled, show.console())


def as_json_of(told: Told, savings: Mapping[str, Saving], pools: Mapping[str, Insured]) -> dict[str, Any]:
    """Return what would have been saved, as scripts read it."""
    came = told.run
    return {
        "lag_s": came.grid.lag_s,
        "scored_days": (came.grid.steps - came.grid.test) * came.grid.step_s / DAY_S,
        "unserved": came.unserved,
        "saved_over": {name: asdict(one) for name, one in savings.items()},
        "verdict": verdict(came),
        "advice": advice([came], UNSERVED),
        "gpu_hours": told.figures[OURS].slices,
        "standby_pools": {name: as_json_pool(pool) for name, pool in pools.items()},
    }


def saving(came: Run, rival: str) -> Saving:
    """Return what ours saves over a rival, at no more unserved work where the rival has a knob."""
    return saved(came.books[OURS].total.held[0], came.at(rival).total.held[0])


def trace_of(demands: Mapping[str, DemandHistory]) -> Trace:
    """Return recorded demand as a trace."""

    def series(one: DemandHistory, values: Floats) -> TidySeries:
        nothing = np.zeros(len(values), np.bool_)
        return TidySeries("", StepSeries(one.start_s, BUCKET_S, values, values, nothing), nothing)

    return Trace(
        {name: series(one, one.requests_per_s) for name, one in demands.items()},
        {
            name: (series(one, one.prompt_tokens), series(one, one.output_tokens))
            for name, one in demands.items()
        },
    )


def _reading_from(settings: Settings, prometheus: str) -> Settings:
    # The folder of `history` is the running service's, and what another Prometheus says is not to get there.
    changes: dict[str, object] = {"acting": False, "history": None}
    if prometheus:
        changes["metrics"] = PrometheusMetrics(source="prometheus", url=prometheus)
    return settings.model_copy(update=changes)


def _last(text: str) -> float:
    try:
        last_s = seconds(text)
    except ValueError as error:
        raise InputError(str(error), where="--last", fix="write --last 14d") from error
    if last_s < LEAST_BEFORE_S + DAY_S:
        days = (LEAST_BEFORE_S + DAY_S) // DAY_S
        raise InputError(f"{text} are under {days} days", where="--last", fix="write --last 14d")
    return last_s


def _played(settings: Settings, folder: Path, last_s: float) -> Run:
    workloads = workloads_of(settings)
    around = surroundings_of(settings, folder)
    try:
        end_s = int(around.clock.now_s() // BUCKET_S) * BUCKET_S
        keys = [workload.key for workload in workloads]
        read = around.metrics.samples(HISTORY_SIGNALS, keys, end_s - int(last_s), end_s)
    finally:
        around.close()
    demands = _known({str(key): demand_history(read[key]) for key in keys if key in read})
    served: dict[str, Workload] = {str(workload.key): workload for workload in workloads}
    scored_s = max(DAY_S, min(last_s / 2, last_s - LEAST_BEFORE_S) // DAY_S * DAY_S)
    terms = Terms(around.boards, served.get, scored_s, models=around.models)
    if settings.standby is not None:
        terms = replace(terms, pool=partial(bed_of, settings.standby.terms()))
    scene = scene_of(trace_of(demands), terms, 0)
    return run(scene, Asked(settings.loop.lead, settings.loop.quiet, UNSERVED, ()))


def _known(demands: Mapping[str, DemandHistory]) -> Mapping[str, DemandHistory]:
    """Return the workloads of which enough is known: half of the minutes; `InputError` if it is none."""
    known = {
        name: one
        for name, one in demands.items()
        if np.isfinite(one.requests_per_s).mean() >= 1 / 2 and np.nansum(one.requests_per_s) > 0
    }
    if not known:
        raise InputError(
            "demand of no workload is known for half of that time",
            where="the metrics source",
            fix="wait until it has been recorded, or see `foreslice metrics inspect`",
        )
    return known


def _print(told: Told, savings: Mapping[str, Saving], pooled: Sequence[str], console: Console) -> None:
    said: Sequence[tuple[str, str]] = (
        (STATIC_GPU_TRAINED, "whole GPUs that stand still, sized for the days before"),
        (OFF, "the best rule without a forecast, in hindsight"),
    )
    for name, what in said:
        one = savings[name]
        console.print(f"Saved: {one.low:.0%} to {one.high:.0%} of the GPU-hours of {what}.")
    console.print(
        f"{told.run.unserved:.2%} of the work would have gone unserved; capacities are estimates, slices are "
        "packed without gaps, and nothing queues. Nothing was written anywhere."
    )
    for line in (*advice([told.run], UNSERVED), *pooled):
        console.print(f"- {line}")
