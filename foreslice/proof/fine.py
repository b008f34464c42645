"""The fine level of `foreslice replay`: the last days of a trace through the service's own loop.

Tick, predictor, allocator and actuator act through their ports on a simulated fleet, with queues, drawn
delays and engines whose speed nobody is told.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allocator.need import Timing
from capacity.estimate import CapacityModel
from fleet.errors import InputError
from fleet.workload import WorkloadKey
from foreslice import output, show
from foreslice.demo import played, tell, tenants_of
from foreslice.proof.fleet import ReplayFleet, read_fleet
from foreslice.proof.scene import jump, scaled, tokens_of
from foreslice.proof.trace import Trace, read_trace
from foreslice.replay import Day
from foreslice.replayed import Policy
from foreslice.report.page import page as page_of
from foreslice.report.table import summary
from foreslice.settings.durations import written
from predictor.ports import BUCKET_S, Floats
from predictor.steps import DAY_S
from simulator.delays import ENGINE_INIT
from simulator.traces import TRACE_STEP_S
from simulator.traffic import Tenant
from simulator.world import WorldSpec

if TYPE_CHECKING:
    from rich.console import Console

USUAL = Timing()
"""Its lead time is what a lag of the fleet file is measured by: it is reckoned with where engines load in the
usual time, so that they take as much longer as the lag is."""


def run_fine(
    trace: Path, fleet: Path, policies: str, seed: int, page: Path | None, *, as_json_only: bool
) -> None:
    """Run the scored days of a trace through the loop at each lag, and print the figures.

    Raises:
        InputError: Trace, fleet file or a policy cannot be used, or the page cannot be written.
    """
    settings = read_fleet(fleet)
    pages = _pages(settings, page)
    days = [day_of(trace, fleet, seed, lag_s) for lag_s in settings.lags]
    console = show.console(to_stderr=as_json_only)
    wanted = policies_of(policies, days[0])
    figures = [_run(day, wanted, path, console, as_json_only) for day, path in zip(days, pages, strict=True)]
    if as_json_only:
        output.print_json({"trace": str(trace), "fleet": str(fleet), "seed": seed, "lags": figures})


def policies_of(text: str, day: Day) -> tuple[Policy, ...]:
    """Return those that `--policies` names and what they are measured by; `InputError` if one is none.

    That are static whole GPUs, which come last, and, of a policy with a pool, the same without one.
    """
    asked = [part.strip() for part in text.split(",") if part.strip()]
    if not asked:
        return day.policies
    known = {policy.value: policy for policy in day.policies}
    for name in asked:
        if name not in set(Policy):
            fix = f"at the fine level choose from {', '.join(known)}"
            raise InputError(f"{name!r} is no policy", where="--policies", fix=fix)
        if name not in known:
            fix = "say `standby` in the fleet file"
            raise InputError(f"{name!r} needs a standby pool", where="--policies", fix=fix)
    found = {*chain.from_iterable((known[name], known[name].alone) for name in asked), Policy.STATIC}
    if found == {Policy.STATIC}:
        raise InputError(
            "static whole GPU is what others are measured by", where="--policies", fix="name another, too"
        )
    return tuple(sorted(found, key=lambda one: (one is Policy.STATIC, list(Policy).index(one))))


def day_of(trace: Path, fleet: Path, seed: int, lag_s: float) -> Day:
    """Return the scored days of a trace at a lag.

    Raises:
        InputError: Trace or fleet file cannot be used.
    """
    spec = spec_of(trace, fleet, seed, lag_s)
    days = min(tenant.days for tenant in spec.tenants) - spec.start_day
    settings = read_fleet(fleet)
    return Day(
        seed,
        partial(spec_of, trace, fleet, seed, lag_s),
        days * DAY_S,
        replace(USUAL, lead_s=lag_s, regrow_s=lag_s, quiet_s=settings.quiet),
        f"rates of {trace.name}, means of ten minutes and scaled as the fleet file says",
        settings.standby,
    )


def spec_of(trace: Path, fleet: Path, seed: int, lag_s: float) -> WorldSpec:
    """Return the fleet of a fleet file with the traffic of a trace, in which a lag is usual.

    Raises:
        InputError: Trace or fleet file cannot be used.
    """
    settings, found = read_fleet(fleet), read_trace(trace)
    terms = settings.terms()
    if len(terms.boards) > 1:
        raise InputError(
            "the fine level has cards of one kind",
            where=f"{fleet}: boards",
            fix="leave one, or --level coarse",
        )
    standby = settings.standby
    if standby is not None and standby.board != terms.boards[0].id:
        raise InputError(
            f"{standby.board} is no card of this fleet",
            where=f"{fleet}: standby.board",
            fix=f"give {terms.boards[0].id}",
        )
    draws = np.random.default_rng(seed).uniform(0.0, 1.0, len(found.rates)).tolist()
    tenants = tuple(
        _tenant(found, name, settings, draw) for name, draw in zip(found.rates, draws, strict=True)
    )
    for name, tenant in zip(found.rates, tenants, strict=True):
        called = tenant.workload.key.name
        if not called or [each.workload.key.name for each in tenants].count(called) > 1:
            raise InputError(
                f"{name} comes to {called!r}, which is no name or that of another, too",
                where=str(trace),
                fix="give workloads names that differ in letters, digits and '-', or --level coarse",
            )
    start_day = min(tenant.days for tenant in tenants) - round(settings.scored / DAY_S)
    if start_day < LEAST_DAYS_BEFORE:
        raise InputError(
            f"holds {start_day} whole days before what is scored; the fine level needs {LEAST_DAYS_BEFORE}",
            where=str(trace),
            fix="give a longer trace or a shorter `scored`",
        )
    return WorldSpec(
        tenants,
        start_day,
        nodes=settings.nodes,
        board=terms.boards[0],
        models=terms.models,
        sleepers=standby.sleepers if standby is not None else 0,
        engine_init=ENGINE_INIT._replace(median_s=ENGINE_INIT.median_s * lag_s / USUAL.lead_s),
    )


LEAST_DAYS_BEFORE = 1
"""Whole days that the service finds as its history, at least."""


def _tenant(trace: Trace, name: str, settings: ReplayFleet, draw: float) -> Tenant:
    workload = settings.workload(name)
    if workload is None:
        raise InputError(
            f"nothing is said of what serves {name}",
            where="workloads",
            fix="give it a model and objectives, or --level coarse",
        )
    series = trace.rates[name].series
    prompt, output_tokens = tokens_of(trace, name, len(series))
    terms = settings.terms()
    work = CapacityModel(terms.boards, terms.models).work(workload, series.values, prompt, output_tokens)
    start_s = min(one.series.start_s for one in trace.rates.values())
    before = (series.start_s - start_s) // BUCKET_S
    rates, prompt, output_tokens = (
        _in_steps(np.pad(jump(values, series.step_s), (before, 0), constant_values=np.nan))
        for values in (series.values * scaled(work, terms.sizes, draw), prompt, output_tokens)
    )
    return Tenant(
        workload=replace(workload, key=WorkloadKey(workload.key.namespace, _as_object(name))),
        kind="recorded",
        client=name,
        requests_per_s=rates,
        prompt_tokens=prompt,
        output_tokens=output_tokens,
        interarrival_cv=np.ones(len(rates)),
    )


def _as_object(name: str) -> str:
    """Return a name of the trace as one that an object may have (RFC 1123)."""
    return re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")


def _in_steps(minutes: Floats) -> Floats:
    """Return means over whole steps of the traffic, straight lines over what is unknown."""
    known = np.flatnonzero(np.isfinite(minutes))
    minutes = np.interp(np.arange(len(minutes)), known, minutes[known])
    width = TRACE_STEP_S // BUCKET_S
    means: Floats = minutes[: len(minutes) // width * width].reshape(-1, width).mean(axis=1)
    return means


def _pages(settings: ReplayFleet, page: Path | None) -> list[Path | None]:
    """Return where the page of each lag goes."""
    if page is None:
        return [None] * len(settings.lags)
    several = len(settings.lags) > 1
    paths = [page.with_stem(f"{page.stem}-{written(lag_s)}") if several else page for lag_s in settings.lags]
    for path in paths:
        output.check_writable(path)
    return [*paths]


def _run(
    day: Day,
    policies: tuple[Policy, ...],
    page: Path | None,
    console: Console,
    as_json_only: bool,  # noqa: FBT001
) -> dict[str, Any]:
    lag = written(day.timing.lead_s)
    came = played(day, policies, console)
    tenants = tenants_of(day)
    if page is not None:
        page.write_text(page_of(came, tenants, day), encoding="utf-8")
    if not as_json_only:
        tell(came, day, f"\n{day.length_s // DAY_S} simulated days, lead time {lag}", console)
    return {"lag": lag} | summary(came, tenants, day)
