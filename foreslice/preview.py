"""`foreslice plan --diff`: what the next tick would write, object by object, as kubectl diff shows it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from rich.text import Text

from actuator.diff import diff
from actuator.execute import Executor
from actuator.gate import Terms
from actuator.objects.rehearsal import sketches
from actuator.outcome import Outcome, StepResult
from actuator.ports import Cluster, Rewrite
from actuator.ways import as_described
from allocator.decide import Decision, Question, plan
from fleet.change import ChangeSet, Step
from fleet.cluster import Fleet
from fleet.errors import RefusedError, UnavailableError
from fleet.workload import WorkloadKey
from foreslice import output, show
from foreslice.compose import loop_of, surroundings_of
from foreslice.selection import load_settled
from foreslice.settings.load import rules_of, workloads_of
from foreslice.settings.schema import Settings
from foreslice.tick import Loop

SIMULATED = "simulated: cards, nodes, the cluster's API and the engines"

_FILLED_IN = ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation")
"""Metadata that the API server keeps, and nobody writes."""

_COLOURS = {"+": "green", "-": "red", "@": "cyan", "#": "yellow"}
_HEADINGS = ("diff ", "--- ", "+++ ")


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be written, and what is held back.

    Attributes:
        rewrites: Objects that would be written, in order.
        held: Steps that would not be taken now, with the reason.
        conditions: Why something is not done at all, one line each.
        is_whole: Whether the objects are whole; of a snapshot only what would be written of them is known.
    """

    rewrites: tuple[Rewrite, ...]
    held: tuple[StepResult, ...]
    conditions: tuple[str, ...] = ()
    is_whole: bool = True


def print_live_diff(config: Path, *, as_json: bool) -> None:
    """Look once at what settings name, and print what the next tick would write; nothing is written.

    Raises:
        InputError: Settings cannot be used.
        UnavailableError: Metrics or cluster did not answer.
    """
    settings = load_settled(config).model_copy(update={"acting": False})
    _print(_live(settings, config.parent), as_json=as_json)


def print_snapshot_diff(question: Question, config: Path, *, as_json: bool) -> None:
    """Print what a tick would write in the cluster of a question, as far as the question knows it."""
    _print(of_question(question, load_settled(config)), as_json=as_json)


def _live(settings: Settings, folder: Path) -> Preview:
    surroundings = surroundings_of(settings, folder)
    try:
        loop = loop_of(settings, surroundings)
        loop.forecast()
        if loop.forecast_trouble:
            raise UnavailableError(loop.forecast_trouble)
        if surroundings.cluster is None:
            raise UnavailableError("no cluster is seen, so nothing would be written")
        loop.plan()
        preview = of_loop(loop, as_described(surroundings.cluster, workloads_of(settings)))
        if settings.cluster.kind == "embedded":
            preview = replace(preview, conditions=(*preview.conditions, SIMULATED))
        return preview
    finally:
        surroundings.close()


def of_loop(loop: Loop, cluster: Cluster) -> Preview:
    """Return what a tick of a loop that does not act would write."""
    tick = loop.tick()
    rewrites: list[Rewrite] = []
    held = [result for result in tick.results if result.outcome is not Outcome.PROPOSED]
    for change, steps in _proposed(tick.fleet, tick.decisions, tick.results, tick.at_s):
        try:
            rewrites += cluster.rehearse(change, steps)
        except RefusedError as error:
            held += [StepResult(change.target, step, Outcome.FAILED, str(error)) for step in steps]
    return Preview(tuple(rewrites), tuple(held), tick.conditions)


def of_question(question: Question, settings: Settings) -> Preview:
    """Return what would be written in the cluster of a question."""
    decisions = plan(question)
    executor = Executor(_Seen(question.fleet), dry_run=True, limits=rules_of(settings).limits)  # type: ignore[arg-type]  # a dry run only looks
    terms = {
        workload.key: Terms(
            workload.mode,
            workload.router,
            workload.limits.min_replicas,
            question.offers[workload.key].works,
            question.needs[workload.key, 0].keep,
            question.needs[workload.key, 0].distrust,
        )
        for workload in question.workloads
    }
    results = executor.run(diff(question.fleet, decisions, question.at_s), terms, question.at_s)
    rewrites: list[Rewrite] = []
    for change, steps in _proposed(question.fleet, decisions, results, question.at_s):
        standing = question.fleet.standing(change.target)
        variants = standing.variants if standing is not None else ()
        rewrites += sketches(change, steps, {variant.name: variant.wanted for variant in variants})
    held = tuple(result for result in results if result.outcome is not Outcome.PROPOSED)
    return Preview(tuple(rewrites), held, is_whole=False)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A cluster that can be looked at."""

    fleet: Fleet

    def view(self, _workloads: Sequence[WorkloadKey]) -> Fleet:
        return self.fleet


def _proposed(
    fleet: Fleet | None, decisions: Iterable[Decision], results: Iterable[StepResult], at_s: float
) -> Iterator[tuple[ChangeSet, tuple[Step, ...]]]:
    """Yield changes, their removals cut to what may go at once, with the steps that would be taken now."""
    told = list(results)
    for change in diff(fleet, decisions, at_s) if fleet is not None else ():
        mine = [result for result in told if result.target == change.target]
        steps = tuple(result.step for result in mine if result.outcome is Outcome.PROPOSED)
        if steps:
            yield replace(change, steps=tuple(result.step for result in mine)), steps


def _print(preview: Preview, *, as_json: bool) -> None:
    if as_json:
        output.print_json(as_table(preview))
        return
    people = show.console()
    for line in as_lines(preview):
        people.print(
            Text(line, style="bold" if line.startswith(_HEADINGS) else _COLOURS.get(line[:1], "")),
            soft_wrap=True,
        )


def as_table(preview: Preview) -> dict[str, Any]:
    """Return a preview for scripts."""
    return {
        "is_whole": preview.is_whole,
        "writes": [
            {
                "before": None if rewrite.before is None else written_part(rewrite.before),
                "after": written_part(rewrite.after),
                "objection": rewrite.objection or None,
            }
            for rewrite in preview.rewrites
        ],
        "held": [show.step_as_json(result) for result in preview.held],
        "conditions": list(preview.conditions),
    }


def as_lines(preview: Preview) -> Iterator[str]:
    """Yield a preview line by line: a unified diff that patch reads, remarks after a `#`."""
    for rewrite in preview.rewrites:
        yield from _diff(rewrite)
    if not preview.rewrites:
        yield "# nothing would be written"
    elif not preview.is_whole:
        yield "# a snapshot has no objects: only what would be written of them is shown"
    yield from (f"# {show.step_as_text(result)}" for result in preview.held)
    yield from (f"# {condition}" for condition in preview.conditions)


def _diff(rewrite: Rewrite) -> Iterator[str]:
    name = _name(rewrite.after)
    live, merged = f"LIVE/{name}", f"MERGED/{name}"
    yield f"diff -u -N {live} {merged}"
    before = [] if rewrite.before is None else _yaml(rewrite.before)
    yield from difflib.unified_diff(before, _yaml(rewrite.after), live, merged, lineterm="")
    if rewrite.objection:
        yield f"# would be refused: {rewrite.objection}"


def _name(body: Mapping[str, Any]) -> str:
    """Return the name of an object as kubectl diff gives it to a file."""
    group, _, version = body["apiVersion"].rpartition("/")
    meta = body["metadata"]
    return ".".join(part for part in (group, version, body["kind"], meta["namespace"], meta["name"]) if part)


def written_part(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object without status and without what the API server fills in by itself."""
    metadata = {key: value for key, value in body["metadata"].items() if key not in _FILLED_IN}
    return {**{key: value for key, value in body.items() if key != "status"}, "metadata": metadata}


def _yaml(body: Mapping[str, Any]) -> list[str]:
    text: str = yaml.dump(written_part(body), Dumper=_Plain, sort_keys=True, width=10_000)
    return text.splitlines()


class _Plain(yaml.SafeDumper):
    """Writes what occurs twice twice, and enumerations as their text."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 -- as the base class asks
        return True


_Plain.add_multi_representer(str, lambda dumper, text: dumper.represent_str(str(text)))
