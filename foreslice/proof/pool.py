"""``foreslice pool``: what a standby pool that workloads share would save on a recorded trace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from foreslice import output, show
from foreslice.proof.beside import Found, foreseen, found_of, without_pool
from foreslice.proof.course import courses_of, grid_of, learned, unforeseen
from foreslice.proof.fleet import ReplayFleet, read_fleet
from foreslice.proof.placed import placing
from foreslice.proof.pool_output import HEAD, NOTE, Asked, row
from foreslice.proof.pool_output import as_json as json_of
from foreslice.proof.pool_page import page
from foreslice.proof.pooled import BASELINES, Terms, pooled
from foreslice.proof.scene import Scene, drawn, scene_of
from foreslice.proof.trace import read_trace
from foreslice.settings.durations import written


def run_pool(
    trace: Path, fleet: Path, asked: Asked, seed: int, report: Path | None = None, *, as_json: bool
) -> None:
    """Print what a pool saves at each lag of a fleet file, and write the page of it if one is named.

    Raises:
        InputError: Trace or fleet file cannot be used, its workloads run on several shapes, or the page
            cannot be written.
    """
    if report is not None:
        output.check_writable(report)
    settings = read_fleet(fleet)
    scene = scene_of(read_trace(trace), settings.terms(), seed)
    if asked.workloads is not None:
        scene = drawn(scene, asked.workloads, seed)
    told = [(lag_s, list(_at(scene, settings, lag_s, asked))) for lag_s in settings.lags]
    if report is not None:
        report.write_text(page(trace.name, scene, told, asked.said(settings.unserved)), encoding="utf-8")
    if as_json:
        output.print_json(json_of(scene, settings, asked, told))
        return
    console = show.console()
    for lag_s, found in told:
        console.print(f"lag {written(lag_s)}, {settings.unserved:.2%} may go unserved:")
        table = show.table(*HEAD)
        for each in found:
            table.add_row(*row(each))
        console.print(table)
        for placed in (each.placing for each in found if each.placing is not None):
            low, high = placed.interval
            console.print(
                f"beds dealt by the forecast, too, leave {placed.ratio:.2f} [{low:.2f}, {high:.2f}] times "
                f"what beds dealt by the past alone leave, in the service's own pool at its default "
                f"settings, {placed.slices:.1f} slices on average."
            )
    console.print(NOTE)


def _at(scene: Scene, settings: ReplayFleet, lag_s: float, asked: Asked) -> Iterator[Found]:
    grid = grid_of(scene, lag_s, settings.quiet)
    with show.console(to_stderr=True).status(f"lag {written(lag_s)}"):
        courses = courses_of(scene, grid, learned()) if asked.has_forecast else unforeseen(scene, grid)
        alone = without_pool(courses, grid)
        terms = Terms(asked.sleepers, asked.wake_s)
        for name, baselines in BASELINES.items():
            if name != "forecast" or asked.has_forecast:
                [came] = pooled(courses, grid, baselines, terms, [settings.unserved])
                found = found_of(name, came, courses, grid, alone)
                if name == "rule" and asked.has_forecast and asked.sleepers is not None:
                    ahead = foreseen(scene, grid)
                    late = asked.wake_s / grid.step_s
                    found = replace(found, placing=placing(courses, ahead, grid, asked.sleepers, late))
                yield found
