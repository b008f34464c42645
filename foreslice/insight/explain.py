"""``foreslice explain WORKLOAD``: why it stands as it stands, and what would be done next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fleet.errors import InputError
from fleet.workload import Workload
from foreslice import output, show
from foreslice.insight.changes import as_line, changes_of
from foreslice.insight.look import Look, look
from foreslice.insight.names import named
from foreslice.insight.standby import beds_of
from foreslice.insight.verdict import verdicts_of
from foreslice.planning import report_of

LAST_CHANGES = 5
_HOUR_S = 3600


def print_explanation(name: str, config: Path, *, as_json: bool) -> None:
    """Print what a workload needs and why, what would carry it, and what was done to it last.

    Raises:
        InputError: Settings cannot be used, or they have no such workload, or it is off.
        UnavailableError: Metrics or cluster did not answer.
    """
    seen = look(config)
    answer = explanation(seen, named(name, seen.workloads))
    if as_json:
        output.print_json(answer)
        return
    for line in as_text(answer):
        show.console().print(line, soft_wrap=True)


def explanation(seen: Look, workload: Workload) -> dict[str, Any]:
    """Return everything that is known of one workload, as scripts read it; `InputError` if it is off."""
    if workload not in seen.looked_after:
        fix = "give it another mode to have it looked at"
        raise InputError("is off: nothing is known of it", where=str(workload.key), fix=fix)
    (verdict,) = verdicts_of(seen.tick, [workload])
    (ticked,) = show.as_json(seen.tick, [workload])["workloads"]
    key = str(workload.key)
    planned: dict[str, Any] = {}
    if seen.question is not None:
        planned = next(row for row in report_of(seen.question)["workloads"] if row["workload"] == key)
    of_others = tuple(f"{other.key}: " for other in seen.workloads if other.key != workload.key)
    need = seen.tick.needs.get(workload.key)
    if need is not None:
        ticked["need"]["because"] = need.because
    return {
        "state": verdict.state,
        "why": verdict.why,
        "ready": verdict.ready,
        "is_simulated": seen.is_simulated,
        **ticked,
        **planned,
        "mode": verdict.mode,
        "standby": list(beds_of(seen.tick.pool, workload.key)),
        "conditions": [line for line in seen.tick.conditions if not line.startswith(of_others)],
        "changes": list(changes_of(seen.plans.get(workload.key, ())))[:LAST_CHANGES],
    }


def as_text(answer: dict[str, Any]) -> Iterator[str]:
    """Yield an explanation as lines for people."""
    yield f"{answer['workload']} is {answer['state']}: {answer['why']}."
    if answer["is_simulated"]:
        yield "Simulated: cards, nodes, the cluster's API, its delays and the engines."
    yield ""
    yield f"mode       {answer['mode']}"
    yield from _need(answer)
    yield f"forecast   {_forecast(answer)}"
    yield from _in_requests(answer)
    if "stands" in answer:
        yield f"stands     {answer['stands'] or 'not in the cluster'}"
        yield f"next       {answer['next'] or '-'}, because {'; '.join(answer['because'])}"
        yield f"target     {answer['target'] or '-'}, bound by {answer['bound_by']}"
        yield f"           without the forecast: {answer['without_forecast'] or '-'}"
        for other in answer["alternatives"]:
            cut = "" if other["is_offered"] else ", if cards are cut anew"
            yield f"           or {other['configuration']}, {other['cards']:.2f} cards{cut}"
    for line in answer["standby"]:
        yield f"standby    {line}"
    for line in answer["conditions"]:
        yield f"held       {line}"
    for change in answer["changes"]:
        yield f"changed    {as_line(change)}"
    yield ""
    yield "Work is in full reference replicas (1.00 = one whole card at its limit)."


def _need(answer: dict[str, Any]) -> Iterator[str]:
    need = answer.get("need")
    if need is None:
        yield "need       unknown"
        return
    yield f"need       {need['up']:.2f} to carry, {need['keep']:.2f} to keep: {need.get('because', '')}"
    for source, work in (need.get("by") or {}).items():
        yield f"           {source.replace('_', ' ')}: {'unknown' if work is None else f'{work:.2f}'}"
    if answer.get("demand_from"):
        yield f"           demand is read from {answer['demand_from']}"
    for doubt in answer.get("distrust") or []:
        yield f"           nothing is removed: {doubt}"


def _forecast(answer: dict[str, Any]) -> str:
    forecast = answer.get("forecast")
    if forecast is None:
        return f"none: {answer.get('no_forecast_because') or 'nothing was read'}"
    peaks = ", ".join(_peak(p) for p in forecast["peaks"] if p["window_s"] == _HOUR_S)
    worth = forecast.get("worth") or {}
    because = f"; {worth['because']}" if worth else ""
    return f"{forecast['rung']}; peak of the next hour: {peaks or '-'}{because}"


def _in_requests(answer: dict[str, Any]) -> Iterator[str]:
    """Yield the peak of the next hour in what comes in, and a word on peaks that are beyond all history."""
    forecast = answer.get("forecast") or {"peaks": []}
    hour = [peak for peak in forecast["peaks"] if peak["window_s"] == _HOUR_S]
    if hour and hour[0]["requests_per_s"] is not None:
        low, high = hour[0], hour[-1]
        spans = (
            f"{low[name]:,.{digits}f} to {high[name]:,.{digits}f} {unit}"
            for name, digits, unit in (
                ("requests_per_s", 2, "requests/s"),
                ("prompt_tokens_per_s", 0, "prompt tokens/s"),
                ("output_tokens_per_s", 0, "output tokens/s"),
            )
        )
        yield f"           that is {', '.join(spans)}"
    drift = forecast.get("drift") or {}
    if drift.get("because"):
        yield f"           demand is like that of no day before: {drift['because']}"
    if any(peak["is_extrapolated"] for peak in hour):
        seen = forecast["highest_seen"]
        yield f"           * above anything seen ({seen:.2f}): there is nothing to go by"


def _peak(peak: dict[str, Any]) -> str:
    return f"q {peak['quantile']:g}: {peak['work']:.2f}{'*' if peak['is_extrapolated'] else ''}"
