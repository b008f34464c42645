"""`foreslice replay`: a trace on a fleet, policy by policy and lag by lag, as JSON, tables and a page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from fleet.errors import InputError
from foreslice import output, show
from foreslice.proof.advice import advice, verdict
from foreslice.proof.fleet import ReplayFleet, read_fleet
from foreslice.proof.output import HEAD, Told, as_json, chosen_after, rows
from foreslice.proof.page import page as page_of
from foreslice.proof.scene import Scene, scene_of
from foreslice.proof.sweep import (
    BOUND,
    FIXED,
    OFF,
    ORACLE,
    OURS,
    RIVALS,
    STATIC_GPU,
    STATIC_GPU_TRAINED,
    STATIC_MIG,
    STATIC_MIG_TRAINED,
    Asked,
    run,
)
from foreslice.proof.trace import read_trace
from foreslice.proof.trail import figures_of, trail_of
from foreslice.settings.durations import written

ALWAYS = (
    OURS,
    FIXED,
    OFF,
    ORACLE,
    BOUND,
    STATIC_GPU,
    STATIC_MIG,
    STATIC_GPU_TRAINED,
    STATIC_MIG_TRAINED,
)
"""Policies that every replay works out: they are what the others are measured by."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A trace on a fleet, and what came of it at each lag."""

    scene: Scene
    fleet: ReplayFleet
    told: tuple[Told, ...]


def run_replay(
    trace: Path, fleet: Path, policies: str, seed: int, page: Path | None, *, as_json_only: bool
) -> None:
    """Replay a trace on a fleet, and print the figures.

    Raises:
        InputError: Trace, fleet file or a policy cannot be used, or the page cannot be written.
    """
    wanted = policies_of(policies)
    if page is not None:
        output.check_writable(page)
    with show.progress() as on_progress:
        done = replayed(trace, fleet, wanted, seed, on_progress)
    if page is not None:
        page.write_text(
            page_of(trace.name, seed, done.scene, done.told, done.fleet.unserved), encoding="utf-8"
        )
    figures = {"trace": str(trace), "fleet": str(fleet), "seed": seed} | as_json(
        done.scene, done.told, done.fleet.unserved
    )
    if as_json_only:
        output.print_json(figures)
    else:
        _print(done, show.console())


def replayed(
    trace: Path,
    fleet: Path,
    wanted: tuple[str, ...],
    seed: int,
    on_progress: Callable[[str, float], None] = lambda _, __: None,
) -> Replayed:
    """Return what policies come to on a trace; the same arguments give the same figures.

    Raises:
        InputError: Trace or fleet file cannot be used.
    """
    settings = read_fleet(fleet)
    scene = scene_of(read_trace(trace), settings.terms(), seed)
    rivals = tuple(name for name in wanted if name in RIVALS)
    told = []
    for turn, lag_s in enumerate(settings.lags):

        def say(what: str, share: float, turn: int = turn, lag_s: float = lag_s) -> None:
            on_progress(f"{written(lag_s)}: {what}", (turn + share) / len(settings.lags))

        came = run(scene, Asked(lag_s, settings.quiet, settings.unserved, rivals), say)
        told.append(Told(came, {name: figures_of(trail_of(came, name), came) for name in wanted}))
    return Replayed(scene, settings, tuple(told))


def policies_of(text: str) -> tuple[str, ...]:
    """Return ours and the policies that `--policies` names; `InputError` if one is none."""
    known = (*ALWAYS, *RIVALS)
    asked = [part.strip() for part in text.split(",") if part.strip()] if text else list(known)
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise InputError(
            f"{unknown[0]!r} is no policy", where="--policies", fix=f"choose from {', '.join(known)}"
        )
    return tuple(name for name in known if name in asked or name == OURS)


def _print(done: Replayed, console: Console) -> None:
    for one in done.told:
        console.print(f"\nlag {written(one.run.grid.lag_s)}: {verdict(one.run)}")
        table = Table(box=None, pad_edge=False)
        for name in HEAD:
            table.add_column(
                name, justify="left" if name in {"policy", "setting", "worst workload"} else "right"
            )
        for row in rows(one):
            table.add_row(*row)
        console.print(table)
    console.print(
        "\nGPU-hours of rivals: at the work that foreslice left unserved, off the curve of their knob, "
        "which is swept on the scored days in their favour. Settings of ours that were chosen on what "
        f"they are scored on: {chosen_after(done.told)}."
    )
    for line in advice([one.run for one in done.told], done.fleet.unserved):
        console.print(f"- {line}")
