"""One tick for people (a table) and for scripts (JSON)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from rich.table import Table
from rich.text import Text

from actuator.outcome import StepResult
from allocator.decide import Decision
from allocator.room import is_offered
from fleet.codec import encode
from fleet.shape import Configuration
from fleet.workload import Workload
from foreslice.outlook import Outlook
from foreslice.tick import Tick
from predictor.shared import Beside

PIPED_WIDTH = 160
"""Columns where nobody has said how many there are: tables keep their rows in one line."""


def as_json(tick: Tick, workloads: Sequence[Workload]) -> dict[str, Any]:
    """Return what a tick saw, decided and did; work is in full reference replicas, `null` is unknown."""
    decisions = {decision.workload: decision for decision in tick.decisions}
    return {
        "at_s": tick.at_s,
        "conditions": list(tick.conditions),
        "shadow": encode(tick.shadow),
        "gpus_in_use": tick.fleet.gpus_in_use if tick.fleet is not None else None,
        "workloads": [
            {
                "workload": str(workload.key),
                "mode": workload.mode.label,
                **_outlook(tick, workload),
                **_need(tick, workload),
                **(_decision(decisions[workload.key]) if workload.key in decisions else {}),
            }
            for workload in workloads
        ],
        "steps": [step_as_json(result) for result in tick.results],
    }


def step_as_json(result: StepResult) -> dict[str, str | int]:
    """Return one step and what became of it."""
    return {
        "workload": str(result.target),
        "verb": result.step.verb,
        "variant": result.step.variant,
        "replicas": result.step.replicas,
        "outcome": result.outcome,
        "reason": result.reason,
    }


def step_as_text(result: StepResult) -> str:
    """Return one step and what became of it, in one line."""
    step = result.step
    return (
        f"{result.target}: {step.verb} {step.variant} to {step.replicas}: {result.outcome}: {result.reason}"
    )


def _outlook(tick: Tick, workload: Workload) -> dict[str, Any]:
    outlook = tick.outlooks.get(workload.key)
    if outlook is None:
        return {}
    forecast = outlook.forecast
    return {
        "forecast": None
        if forecast is None
        else {
            "rung": forecast.rung,
            "made_at_s": forecast.made_at_s,
            "worth": encode(forecast.worth),
            "drift": encode(forecast.drift),
            "highest_seen": forecast.highest if isfinite(forecast.highest) else None,
            "peaks": [
                {
                    "window_s": window_s,
                    "quantile": quantile,
                    "work": work,
                    "is_extrapolated": forecast.is_extrapolated(window_s, quantile),
                    **_in_requests(outlook, work),
                }
                for (window_s, quantile), work in sorted(forecast.peaks.items())
            ],
        },
        "no_forecast_because": outlook.no_forecast_because or None,
        "capacity_per_replica": {str(s): offer.work for s, offer in outlook.offers.by_shape.items()},
    }


def _in_requests(outlook: Outlook, work: float) -> dict[str, float | None]:
    """Return what work is in requests and in tokens of the present mix, a second."""
    per_s = None if outlook.sustained_per_s is None else work * outlook.sustained_per_s
    return {
        "requests_per_s": per_s,
        "prompt_tokens_per_s": None if per_s is None else per_s * outlook.mix.prompt_tokens,
        "output_tokens_per_s": None if per_s is None else per_s * outlook.mix.output_tokens,
    }


def _need(tick: Tick, workload: Workload) -> dict[str, Any]:
    need = tick.needs.get(workload.key)
    if need is None:
        return {}
    return {
        "need": {"up": need.up, "keep": need.keep, "reactive": need.reactive},
        "demand_from": tick.readings[workload.key].origin if workload.key in tick.readings else None,
        **dict(zip(("cheapest", "cheapest_if_cut_anew"), _cheapest(tick, workload), strict=True)),
        "distrust": list(need.distrust),
    }


def _cheapest(tick: Tick, workload: Workload) -> tuple[str | None, str | None]:
    """Return what would carry need-keep at the least price, whatever stands; `None` if nothing would.

    The first is of what cards are cut into as they are. The second is cheaper, and takes cards that are cut
    anew: `None` where nothing is.
    """
    need, outlook, fleet = tick.needs.get(workload.key), tick.outlooks.get(workload.key), tick.fleet
    if need is None or outlook is None:
        return None, None
    carry, offered = list(outlook.offers.of_one_shape(need.keep, workload.limits)), None
    if fleet is not None and fleet.pools:
        carry = [one for one in carry if fleet.barred.keys().isdisjoint(one)]
        offered = [one for one in carry if all(is_offered(fleet, shape) for shape in one)]
    best, first = (next(iter(each), None) for each in (carry, carry if offered is None else offered))
    return _named(first), _named(None if best is first else best)


def _named(one: Configuration | None) -> str | None:
    return None if one is None else str(one)


def _cheapest_as_text(tick: Tick, workload: Workload) -> str:
    cheapest, cut = _cheapest(tick, workload)
    return f"{cheapest or '-'} ({cut} if cut anew)" if cut else cheapest or "-"


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "stands": str(decision.start),
        "goal": str(decision.goal),
        "short": decision.short,
        "because": list(decision.because),
        "without_forecast": str(decision.without_forecast),
    }


def as_text(tick: Tick, workloads: Sequence[Workload]) -> RenderableType:
    """Return a table of a tick, one row a workload, with what is wrong below it."""
    decisions = {decision.workload: decision for decision in tick.decisions}
    table = Table(title=None, box=None, pad_edge=False)
    for name in ("workload", "need", "asked now", "forecast", "stands", "goal", "cheapest", "because"):
        table.add_column(name, justify="right" if name in {"need", "asked now"} else "left")
    for workload in workloads:
        need, decision = tick.needs.get(workload.key), decisions.get(workload.key)
        outlook = tick.outlooks.get(workload.key)
        forecast = outlook.forecast if outlook is not None else None
        table.add_row(
            str(workload.key),
            f"{need.up:.2f}" if need else "unknown",
            f"{need.reactive:.2f}" if need and need.reactive is not None else "unknown",
            forecast.rung if forecast is not None else "none",
            str(decision.start) if decision else "-",
            str(decision.goal) if decision else "-",
            _cheapest_as_text(tick, workload),
            decision.because[0] if decision and decision.because else (need.because if need else ""),
        )
    notes = [Text(condition, style="yellow") for condition in tick.conditions]
    notes += [Text(line, style="dim") for line in (*_drifting(tick), *_by_rule(tick))]
    notes += [Text(_shadow(tick.shadow))] if tick.shadow is not None else []
    steps = [Text(step_as_text(result)) for result in tick.results]
    unit = Text("Work is in full reference replicas (1.00 = one whole card at its limit).", style="dim")
    return Group(table, *steps, *notes, unit)


def _by_rule(tick: Tick) -> Iterator[str]:
    """Yield for each workload that a rule decides for why a forecast does not; that is no fault."""
    for key, outlook in tick.outlooks.items():
        worth = outlook.forecast.worth if outlook.forecast is not None else None
        if worth is not None and not worth.is_used:
            yield f"{key}: {worth.because}"


def _drifting(tick: Tick) -> Iterator[str]:
    """Yield for each workload whose demand is like that of no day before what is different."""
    for key, outlook in tick.outlooks.items():
        drift = outlook.forecast.drift if outlook.forecast is not None else None
        if drift is not None and drift.because:
            yield f"{key}: demand is like that of no day before: {drift.because}"


def _shadow(beside: Beside) -> str:
    """Return how a challenger does, in one line."""
    cost = "nothing is known yet" if beside.ratio is None else f"it costs {beside.ratio:.3f} of the champion"
    return f"in shadow: model {beside.version} beside {beside.champion}: {cost} ({beside.windows} windows)"


def table(*headings: str) -> Table:
    """Return a table without rows whose cells break rather than lose what is too long."""
    made = Table(box=None, pad_edge=False)
    for heading in headings:
        made.add_column(heading, overflow="fold")
    return made


def console(*, to_stderr: bool = False) -> Console:
    """Return where people read, with colour only on a terminal; beside JSON they read on standard error."""
    people = Console(highlight=False, markup=False, stderr=to_stderr)
    if not people.is_terminal:
        people.width = PIPED_WIDTH
    return people


@contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """Yield what tells people on a terminal what is being done, and the share of all that is done."""
    people = console(to_stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        console=people,
        transient=True,
        disable=not people.is_terminal,
    ) as bar:
        task = bar.add_task("read", total=1.0)
        yield lambda what, done: bar.update(task, description=what, completed=done)
