"""`foreslice plan` and `foreslice snapshot`: what the decision core makes of one moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from allocator.decide import Decision, Question, plan
from allocator.need import Need
from allocator.offers import Offers
from allocator.packing.transition import Act, Transition
from allocator.room import is_offered
from allocator.starts import latest_starts
from allocator.target import Target, target, way_to
from fleet.errors import InputError, UnavailableError
from fleet.shape import Configuration
from fleet.workload import Mode, Workload
from foreslice import output, preview, show, snapshot
from foreslice.compose import loop_of, surroundings_of
from foreslice.settings.load import load, market_of, workloads_of
from foreslice.settings.schema import Settings

ALTERNATIVES = 3
"""Configurations beside the goal that are shown, cheapest first."""

UNLIKE = "snapshot and settings do not fit"


def write_snapshot(config: Path, out: Path) -> None:
    """Observe once as settings say, and write what a plan would depend on.

    Raises:
        InputError: Settings cannot be used, or the file cannot be written.
        UnavailableError: Metrics or cluster did not answer.
    """
    question = _seen_now(config)
    with output.writable(out):
        out.write_text(snapshot.as_text(question), encoding="utf-8")


def _seen_now(config: Path) -> Question:
    settings = load(config).model_copy(update={"acting": False})
    surroundings = surroundings_of(settings, config.parent)
    try:
        loop = loop_of(settings, surroundings)
        loop.forecast()
        if loop.forecast_trouble:
            raise UnavailableError(loop.forecast_trouble)
        question = loop.question()
    finally:
        surroundings.close()
    if question is None:
        raise UnavailableError("no cluster is seen to plan for")
    return question


def print_plan(
    snapshot_file: Path | None, config: Path, demand: Path | None, *, diff: bool = False, as_json: bool
) -> None:
    """Print what the fleet of a snapshot, or of now, should be under the policies of settings.

    Args:
        snapshot_file: Snapshot, `None` = look once at what settings name.
        config: Settings.
        demand: Work by workload in place of what was seen, `None` = what was seen.
        diff: What would be written is printed in place of what should be.
        as_json: Whether a script reads it.

    Raises:
        InputError: A file cannot be used, or they do not fit each other.
        UnavailableError: Metrics or cluster did not answer.
    """
    if diff and snapshot_file is None and demand is None:
        preview.print_live_diff(config, as_json=as_json)
        return
    question = question_of(snapshot_file, config, demand)
    if diff:
        preview.print_snapshot_diff(question, config, as_json=as_json)
        return
    report = report_of(question)
    if as_json:
        output.print_json(report)
    else:
        show.console().print(_as_text(report))


def question_of(snapshot_file: Path | None, config: Path, demand: Path | None) -> Question:
    """Return what is asked by files, as in `print_plan`; without a snapshot, the cluster is looked at."""
    if snapshot_file is None:
        question = _seen_now(config)
    else:
        question = _with_policies(snapshot.read(snapshot_file), load(config), config)
    return question if demand is None else _with_demand(question, demand)


def report_of(question: Question) -> dict[str, Any]:
    """Return the plan for a question, with reasons; work in full reference replicas, prices in cards."""
    aim = target(question)
    without = {at: need.without_forecast() for at, need in question.needs.items()}
    blind = target(replace(question, needs=without))
    decided = {decision.workload: decision for decision in plan(question, aim.goals)}
    return {
        "at_s": question.at_s,
        "cards": {
            "there": len(question.fleet.gpus),
            "in_use": question.fleet.gpus_in_use,
            "target": aim.cards,
            "least": aim.least,
            "gap": aim.gap,
            "target_without_forecast": blind.cards,
            "cost": aim.cost,
        },
        "binding": list(aim.binding),
        **_way(aim, question),
        "workloads": [
            _workload(workload, question, aim, blind, decided.get(workload.key))
            for workload in sorted(question.workloads, key=lambda workload: workload.key)
        ],
    }


def _way(aim: Target, question: Question) -> dict[str, Any]:
    """Return the moves to the target in order, and what stands in the way."""
    try:
        way = way_to(aim, question)
    except InputError as error:
        return {"moves": [], "stuck": [str(error)]}
    ahead_s = _ahead_s(way, question)
    moves = [
        {
            "do": move.act,
            "card": move.card,
            "seat": str(move.seat) if move.seat else None,
            "workload": str(move.workload) if move.workload else None,
            "is_detour": move.is_detour,
            "ahead_s": ahead_s.get((move.card, str(move.seat))) if move.act is Act.START else None,
        }
        for move in way.moves
    ]
    return {"moves": moves, "stuck": list(way.stuck)}


def _ahead_s(way: Transition, question: Question) -> dict[tuple[str, str], float]:
    """Return how long before it must serve each replica is started at the latest, by card and seat.

    Engines on one card start one after the other.
    """
    by_card: defaultdict[str, dict[str, float]] = defaultdict(dict)
    for move in way.moves:
        if move.act is Act.START and move.workload is not None:
            by_card[move.card][str(move.seat)] = question.timing[move.workload].lead_s
    return {
        (card, start.name): -start.at_s
        for card, durations_s in by_card.items()
        for start in latest_starts(durations_s, 0.0, 0.0)
    }


def _workload(
    workload: Workload, question: Question, aim: Target, blind: Target, decision: Decision | None
) -> dict[str, Any]:
    key, need, offers = workload.key, question.needs[workload.key, 0], question.offers[workload.key]
    goal = aim.goals.get(key)
    return {
        "workload": str(key),
        "tier": workload.tier,
        "mode": workload.mode.label,
        "need": {"up": need.up, "keep": need.keep, "by": _sources(need), "because": need.because},
        "stands": str(decision.start) if decision else None,
        "target": str(goal) if goal is not None else None,
        "target_cards": aim.price(goal) if goal is not None else None,
        "short": aim.short.get(key, 0.0),
        "bound_by": _bound_by(goal, offers, need, workload),
        "alternatives": [
            {
                "configuration": str(one),
                "cards": aim.price(one),
                "is_offered": all(is_offered(question.fleet, shape) for shape in one),
            }
            for one in _alternatives(offers, need, workload, aim, goal)
        ],
        "next": str(decision.goal) if decision else None,
        "because": list(decision.because) if decision else ["the cluster does not have it"],
        "without_forecast": str(blind.goals[key]) if key in blind.goals else None,
    }


def _sources(need: Need) -> dict[str, float | None]:
    return {
        "reactive": need.reactive,
        "quiet_peak": need.quiet_peak,
        "quiet_up": need.quiet_up,
        "forecast_up": need.forecast_up,
        "forecast_keep": need.forecast_keep,
    }


def _bound_by(goal: Configuration | None, offers: Offers, need: Need, workload: Workload) -> str:
    """Return what keeps the goal from being smaller."""
    if not offers.by_shape:
        return "no shape of this fleet carries it inside its SLO and isolation"
    if goal is None:
        return "the cluster does not have it"
    if offers.short(goal, need.keep):
        return "too few cards, or its limit on replicas"
    if goal.replicas <= workload.limits.min_replicas:
        return "its floor of replicas"
    return "its need"


def _alternatives(
    offers: Offers, need: Need, workload: Workload, aim: Target, goal: Configuration | None
) -> list[Configuration]:
    """Return other configurations of one shape that carry the need, cheapest at the fleet's prices first."""
    every = offers.of_one_shape(need.keep, workload.limits)
    others = [one for one in every if goal is None or one.counts != goal.counts]
    return sorted(others, key=lambda one: (aim.price(one), str(one)))[:ALTERNATIVES]


def _with_policies(question: Question, settings: Settings, config: Path) -> Question:
    """Return the question under the policies of settings; what capacities rest on must be the same."""
    known = {workload.key: workload for workload in question.workloads}
    chosen = tuple(workload for workload in workloads_of(settings) if workload.mode is not Mode.OFF)
    for workload in chosen:
        before = known.get(workload.key)
        if before is None:
            problem = f"workload {workload.key} is not in the snapshot"
        elif _capacity_rests_on(before) != _capacity_rests_on(workload):
            problem = f"model, SLO, isolation or mechanism of {workload.key} are others than in the snapshot"
        else:
            continue
        raise InputError(f"{UNLIKE}: {problem}", where=f"settings {config}", fix="take a new snapshot")
    offers = {w.key: replace(question.offers[w.key], router=w.router) for w in chosen}
    return replace(question, workloads=chosen, offers=offers, market=market_of(settings))


def _capacity_rests_on(workload: Workload) -> tuple[object, ...]:
    return (workload.model, workload.slo, workload.isolation, workload.mechanism)


def _with_demand(question: Question, path: Path) -> Question:
    """Return the question for other demand: work by workload, what is not named stays."""
    named = _demand(path)
    keys = {str(workload.key): workload.key for workload in question.workloads}
    needs = dict(question.needs)
    for name, work in named.items():
        if name not in keys:
            offered = ", ".join(sorted(keys))
            raise InputError(f"no workload {name}", where=f"demand {path}", fix=f"name some of {offered}")
        needs[keys[name], 0] = _asked(needs[keys[name], 0], work)
    return replace(question, needs=needs)


def _asked(need: Need, work: float) -> Need:
    return replace(
        need,
        up=work,
        keep=work,
        reactive=work,
        quiet_peak=work,
        quiet_up=work,
        forecast_up=0.0,
        forecast_keep=0.0,
        distrust=(),
    )


def _demand(path: Path) -> Mapping[str, float]:
    where, fix = f"demand {path}", "write `namespace/name: work` lines, work in full reference replicas"
    try:
        body = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=where, fix="name a file") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise InputError("is neither YAML nor JSON", where=where, fix=fix) from None
    if not isinstance(body, dict):
        raise InputError("is not a table of workloads", where=where, fix=fix)
    for name, work in body.items():
        if isinstance(work, bool) or not isinstance(work, int | float) or not 0 <= work < float("inf"):
            raise InputError(f"{name}: {work!r} is no work", where=where, fix=fix)
    return {str(name): float(work) for name, work in body.items()}


def _as_text(report: Mapping[str, Any]) -> RenderableType:
    table = Table(title=None, box=None, pad_edge=False)
    for name in ("workload", "need", "stands", "target", "cards", "next", "because"):
        table.add_column(name, justify="right" if name in {"need", "cards"} else "left")
    for one in report["workloads"]:
        table.add_row(
            one["workload"],
            f"{one['need']['keep']:.2f}",
            one["stands"] or "-",
            one["target"] or "-",
            f"{one['target_cards']:.2f}" if one["target_cards"] is not None else "-",
            one["next"] or "-",
            one["because"][0] if one["because"] else one["bound_by"],
        )
    cards = report["cards"]
    summary = (
        f"{cards['in_use']} of {cards['there']} cards in use; the target takes {cards['target']}, "
        f"no packing costs less than {cards['least']:g} (gap {cards['gap']:.1%}); "
        f"without the forecast it takes {cards['target_without_forecast']}."
    )
    unit = "Work is in full reference replicas (1.00 = one whole card at its limit)."
    way = f"{len(report['moves'])} moves lead there, each start before its stop."
    scarce = [f"scarce: {line}" for line in report["binding"]]
    notes = [summary, way, *scarce, *(f"in the way: {line}" for line in report["stuck"]), unit]
    return Group(table, *(Text(note) for note in notes))
