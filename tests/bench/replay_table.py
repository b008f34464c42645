"""`make bench-replay`: the table of docs/replay.md, measured anew; minutes of CPU for each lag.

Scenarios that are not shipped take part if their trace is where NASA, BURSTGPT, M_LARGE or M_MID say.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import typer

from foreslice.proof.course import grid_of, unforeseen
from foreslice.proof.fleet import read_fleet
from foreslice.proof.output import Told, chosen_after
from foreslice.proof.replay import ALWAYS, Replayed, replayed
from foreslice.proof.scene import scene_of
from foreslice.proof.sweep import FIXED, OFF, ORACLE, OURS, STATIC_GPU, STATIC_MIG, Asked, play
from foreslice.proof.trace import read_trace

ROOT = Path(__file__).parents[2]
DATA, FLEETS = ROOT / "simulator" / "data", ROOT / "config" / "replay"
SEED = 1

SCENARIOS = {
    "tenants": DATA / "servegen_24_tenants.csv.gz",
    "mixed": DATA / "servegen_24_tenants.csv.gz",
    "taxi": DATA / "nab_taxi.csv.gz",
    "jobs": DATA / "nab_jobs.csv.gz",
    "tweets": DATA / "nab_tweets.csv.gz",
    "nasa": Path(os.environ.get("NASA", "")),
    "burstgpt": Path(os.environ.get("BURSTGPT", "")),
    "m-large": Path(os.environ.get("M_LARGE", "")),
    "m-mid": Path(os.environ.get("M_MID", "")),
}

TOTALS = {"m-large", "m-mid"}
"""Scenarios with a fleet file in common."""

SHORT, SHORT_LAGS_S = "short", (90.0, 180.0, 300.0)
"""Tenants at lags under the step of their data, by rules alone: what slices that move save."""

HEAD = (
    "scenario",
    "lag s",
    "reading",
    "V [95 %]",
    "V, fixed",
    "off / oracle",
    "ours / oracle",
    "static GPU / ours",
    "static slices / ours",
    "unserved, set",
    "say of forecasts",
    "chosen after",
)


def rows(name: str, done: Replayed) -> list[tuple[str, ...]]:
    """Return a row for each lag."""
    found = []
    for told in done.told:
        run = told.run
        hours = {policy: run.hours(policy) for policy in (OURS, OFF, ORACLE, STATIC_GPU, STATIC_MIG)}
        value, fixed = run.value[OURS], run.value[FIXED]
        found.append(
            (
                name,
                f"{run.grid.lag_s:.0f}",
                run.reading if run.is_informative else f"{run.reading}, orientation",
                "-" if value.value is None else f"{value.value:.2f} [{value.low:.2f} {value.high:.2f}]",
                "-" if fixed.value is None else f"{fixed.value:.2f}",
                _ratio(hours[OFF], hours[ORACLE]),
                _ratio(hours[OURS], hours[ORACLE]),
                _ratio(hours[STATIC_GPU], hours[OURS]),
                _ratio(hours[STATIC_MIG], hours[OURS]),
                f"{value.unserved:.2%}, {done.fleet.unserved:.2%}",
                f"{np.mean([choice.setting.say for choice in run.choices]):.0%}",
                str(chosen_after(done.told)),
            )
        )
    return found


def _ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one is not None and other else "-"


def by_rules() -> Replayed:
    """Return the tenants at short lags without any forecast, nor the minutes that each takes."""
    trace, fleet = SCENARIOS["tenants"], read_fleet(FLEETS / "tenants.yaml")
    scene = scene_of(read_trace(trace), fleet.terms(), SEED)
    told = []
    for lag_s in SHORT_LAGS_S:
        grid = grid_of(scene, lag_s, fleet.quiet)
        asked = Asked(lag_s, fleet.quiet, fleet.unserved, (), has_forecast=False)
        came = play(unforeseen(scene, grid), grid, asked, scene.reading, is_informative=False)
        told.append(Told(came, {}))
    return Replayed(scene, fleet, tuple(told))


def main(names: list[str]) -> None:
    """Print the table of these scenarios, of all without names."""
    typer.echo(f"| {' | '.join(HEAD)} |\n|{'---|' * len(HEAD)}")
    for name in names or (*SCENARIOS, SHORT):
        if name == SHORT:
            done = by_rules()
        elif SCENARIOS[name].is_file():
            fleet = FLEETS / f"{'totals' if name in TOTALS else name}.yaml"
            done = replayed(SCENARIOS[name], fleet, ALWAYS, SEED)
        else:
            continue
        for row in rows(name, done):
            typer.echo(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main(sys.argv[1:])
