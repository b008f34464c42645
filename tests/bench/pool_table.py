"""`make bench-pool`: the tables of docs/replay.md on a shared standby pool; five minutes of an idle core.

Everything that is chosen is chosen on the days before those that are scored; what is tried was fixed before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import typer

from foreslice.proof.beside import Found, foreseen, found_of, without_pool
from foreslice.proof.course import grid_of, unforeseen
from foreslice.proof.fleet import read_fleet
from foreslice.proof.placed import placing
from foreslice.proof.pooled import BASELINES, Terms, pooled
from foreslice.proof.scene import Scene, drawn, scene_of
from foreslice.proof.trace import read_trace
from foreslice.settings.durations import written

ROOT = Path(__file__).parents[2]
TRACE = ROOT / "simulator" / "data" / "servegen_24_tenants.csv.gz"
FLEET = read_fleet(ROOT / "config" / "replay" / "pool.yaml")
SEED = 1

ALLOWED = (0.005, 0.01)
SLEEPERS = (4, 8, None)
WAKES_S = (2.0, 10.0, 60.0)
USUAL = Terms(8, 10.0)
SIZES = {4: 5, 8: 5, 24: 1, 100: 1}
"""Fleets, and how often each is drawn: a hundred are the 24 again and again, each by days shifted."""

Row = Sequence[str]


def measured(scene: Scene, lag_s: float, several: Sequence[Terms]) -> Iterator[list[Found]]:
    """Yield what the rule comes to with each pool, one figure for each share of `ALLOWED`."""
    grid = grid_of(scene, lag_s, FLEET.quiet)
    courses = unforeseen(scene, grid)
    alone = without_pool(courses, grid)
    for terms in several:
        came = pooled(courses, grid, BASELINES["rule"], terms, ALLOWED)
        yield [found_of("rule", one, courses, grid, alone) for one in came]


def by_wake(scene: Scene) -> Iterator[Row]:
    """Yield what a pool comes to by lag and wake."""
    yield (
        "lag, wake",
        *(f"{sleepers or 'any'} sleepers, {allowed:.1%}" for sleepers in SLEEPERS for allowed in ALLOWED),
    )
    several = [Terms(sleepers, wake_s) for wake_s in WAKES_S for sleepers in SLEEPERS]
    for lag_s in FLEET.lags:
        found = measured(scene, lag_s, several)
        for wake_s in WAKES_S:
            cells = [_cell(one) for _ in SLEEPERS for one in next(found)]
            yield f"{written(lag_s)}, {wake_s:.0f} s", *cells


def by_size(scene: Scene) -> Iterator[Row]:
    """Yield what it comes to by the size of the fleet: the median of the draws, and their ends."""
    yield "workloads, draws", *(f"lag {written(lag_s)}" for lag_s in FLEET.lags)
    for workloads, draws in SIZES.items():
        fleets = [drawn(scene, workloads, SEED + draw) for draw in range(draws)]
        found = [[next(measured(fleet, lag_s, [USUAL]))[0] for fleet in fleets] for lag_s in FLEET.lags]
        yield f"{workloads}, {draws}", *map(_spread, found)
    found = [next(measured(together(scene), lag_s, [USUAL]))[0] for lag_s in FLEET.lags]
    yield f"{len(scene.parts)} that burst together", *map(_cell, found)


def together(scene: Scene) -> Scene:
    """Return workloads of the same sizes whose demand all goes as the fleet's does."""
    work = np.stack([part.filled for part in scene.parts])
    shape = work.sum(axis=0) / work.sum(axis=0).mean()
    parts = zip(scene.parts, work.mean(axis=1).tolist(), strict=True)
    return replace(scene, parts=tuple(replace(part, work=mean * shape) for part, mean in parts))


def by_placing(scene: Scene) -> Iterator[Row]:
    """Yield what the forecast is worth in placing sleepers."""
    groups = [sleepers for sleepers in SLEEPERS if sleepers is not None]
    yield "lag", *(f"{sleepers} sleepers" for sleepers in groups)
    ahead = foreseen(scene, grid_of(scene, FLEET.lags[0], FLEET.quiet))  # alike for lags of whole minutes
    for lag_s in FLEET.lags:
        grid = grid_of(scene, lag_s, FLEET.quiet)
        courses = unforeseen(scene, grid)
        late = USUAL.wake_s / grid.step_s
        found = [placing(courses, ahead, grid, sleepers, late) for sleepers in groups]
        yield (
            written(lag_s),
            *(
                f"{one.ratio:.3f} [{one.interval[0]:.3f} {one.interval[1]:.3f}]; {one.slices:.1f} slices"
                for one in found
            ),
        )


def _cell(found: Found) -> str:
    ratios = " / ".join(_ratio(one) for one in (found.over_oracle, found.over_rule))
    return f"{ratios} at {found.pooled.unserved:.2%}; {found.of_mean:.0%}"


def _spread(found: Sequence[Found]) -> str:
    """Return a figure and, of several, its ends; who never leaves so little counts as endless."""
    if len(found) == 1:
        return _cell(found[0])
    said = []
    for name in ("over_oracle", "over_rule"):
        values = [np.inf if (value := getattr(one, name)) is None else value for one in found]
        middle, ends = np.median(values), (min(values), max(values))
        said.append(f"{middle:.2f} [{ends[0]:.2f} {ends[1]:.2f}]")
    left = [one.pooled.unserved for one in found]
    return f"{' / '.join(said)} at {np.median(left):.2%} [{min(left):.2%} {max(left):.2%}]"


def _ratio(ratio: float | None) -> str:
    return "never" if ratio is None else f"{ratio:.2f}"


def main() -> None:
    """Print the tables, each row as it is measured."""
    scene = scene_of(read_trace(TRACE), FLEET.terms(), SEED)
    for table in (by_placing, by_wake, by_size):
        for number, row in enumerate(table(scene)):
            typer.echo(f"| {' | '.join(row)} |")
            if not number:
                typer.echo(f"|{' --- |' * len(row)}")
        typer.echo("")


if __name__ == "__main__":
    main()
