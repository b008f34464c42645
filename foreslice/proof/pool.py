"""``foreslice pool``: what a standby pool that workloads share would save on a recorded trace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from foreslice import output, show
from foreslice.proof import books
from foreslice.proof.books import Book
from foreslice.proof.course import Course, Grid, courses_of, grid_of, learned, peaks_of, unforeseen
from foreslice.proof.fleet import ReplayFleet, read_fleet
from foreslice.proof.placed import PLANNED_EVERY_S, Placing
from foreslice.proof.pooled import BASELINES, Pooled, Terms, placing_of, pooled
from foreslice.proof.scene import Scene, drawn, scene_of
from foreslice.proof.setting import FORESIGHT, HOLDS, RESIDUALS
from foreslice.proof.trace import read_trace
from foreslice.settings.durations import written
from foreslice.standby.plan import RISK_QUANTILE
from predictor.ports import Floats
from predictor.value.ledger import Ledger
from predictor.value.worth import cheapest

FORESEEN = 0.95
"""Quantile of the peak of the next six hours by which beds are dealt; the service goes by
`standby.plan.RISK_QUANTILE`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked about a pool.

    Attributes:
        sleepers: Engines that may sleep on a slice, `None` = any.
        wake_s: Until a woken engine serves.
        has_forecast: Whether a forecast is tried as a baseline, too; it takes minutes.
        workloads: How many workloads are drawn, `None` = all that the trace has, once.
    """

    sleepers: int | None
    wake_s: float
    has_forecast: bool
    workloads: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """One policy with a pool at one lag.

    Attributes:
        baseline: Whose capacity the pool stands beside.
        pooled: What came of both.
        unserved: Share of the work that was left.
        over_oracle: Card-hours over those of who knows what comes, without a pool, at the same unserved work.
        over_rule: Card-hours over those of the best rule without a pool, in hindsight, likewise.
        of_mean: Cards of the pool over the mean work, in whole cards.
        placing: What dealing beds by the forecast is worth, `None` where that was not asked or means nothing.
    """

    baseline: str
    pooled: Pooled
    unserved: float
    over_oracle: float | None
    over_rule: float | None
    of_mean: float
    placing: Placing | None = None


def run_pool(trace: Path, fleet: Path, asked: Asked, seed: int, *, as_json: bool) -> None:
    """Print what a pool saves at each lag of a fleet file.

    Raises:
        InputError: Trace or fleet file cannot be used, or its workloads run on several shapes.
    """
    settings = read_fleet(fleet)
    scene = scene_of(read_trace(trace), settings.terms(), seed)
    if asked.workloads is not None:
        scene = drawn(scene, asked.workloads, seed)
    told = [(lag_s, list(_at(scene, settings, lag_s, asked))) for lag_s in settings.lags]
    if as_json:
        output.print_json(_as_json(scene, settings, asked, told))
        return
    console = show.console()
    for lag_s, found in told:
        console.print(f"lag {written(lag_s)}, {settings.unserved:.2%} may go unserved:")
        table = show.table("baseline", "unserved", "/ oracle", "/ best rule", "pool", "short", "wakes a day")
        for each in found:
            table.add_row(
                f"{each.baseline}: {each.pooled.baselines[-1]}",
                f"{each.unserved:.2%}",
                _ratio(each.over_oracle),
                _ratio(each.over_rule),
                f"{each.pooled.cards:.2f} cards, {each.of_mean:.0%} of mean use",
                f"{each.pooled.short:.0%} of the time",
                f"{each.pooled.wakes_per_day:.0f} a workload",
            )
        console.print(table)
        for placing in (each.placing for each in found if each.placing is not None):
            low, high = placing.interval
            console.print(
                f"beds dealt by the forecast, too, leave {placing.ratio:.2f} [{low:.2f}, {high:.2f}] times "
                f"what beds dealt by the past alone leave, on {placing.slices} slices. Plans look back five "
                f"days, keep nothing that stands and go by the {FORESEEN:.0%} quantile; the service's look "
                f"back one day, keep what is nearly as good and go by {RISK_QUANTILE:.0%}."
            )
    console.print(
        "Simulated: no queue; slices are shared by any sleeper of their group, the fullest are served "
        "first. Oracle and best rule have no pool, and their knobs are swept on the scored days, in their "
        "favour; baselines and pool are chosen each midnight on the days before."
    )


def _at(scene: Scene, settings: ReplayFleet, lag_s: float, asked: Asked) -> Iterator[Found]:
    grid = grid_of(scene, lag_s, settings.quiet)
    with show.console(to_stderr=True).status(f"lag {written(lag_s)}"):
        courses = courses_of(scene, grid, learned()) if asked.has_forecast else unforeseen(scene, grid)
        scored = slice(grid.first_block, None)
        rules = Book.joined([books.book(courses, grid, HOLDS), books.residuals(courses, grid, RESIDUALS)])
        rule, oracle = (one.blocks(scored).total for one in (rules, books.book(courses, grid, FORESIGHT)))
        terms = Terms(asked.sleepers, asked.wake_s, settings.unserved)
        for name, baselines in BASELINES.items():
            if name != "forecast" or asked.has_forecast:
                came = pooled(courses, grid, baselines, terms)
                found = _found(name, came, courses, grid, (rule, oracle))
                if name == "rule" and asked.has_forecast:
                    ahead = peaks_of(scene, grid, PLANNED_EVERY_S, FORESEEN)
                    found = replace(found, placing=placing_of(courses, grid, came, terms, ahead))
                yield found


def _found(
    name: str, came: Pooled, courses: Sequence[Course], grid: Grid, others: tuple[Ledger, Ledger]
) -> Found:
    held, asked = float(came.ledger.held.sum()), float(came.ledger.asked.sum())
    unserved = float(came.ledger.lacked.sum()) / asked
    over_rule, over_oracle = (_over(held, other, unserved) for other in others)
    mean: Floats = np.array(
        [course.demand[grid.test :][course.counts[grid.test :]].mean() for course in courses]
    )
    return Found(name, came, unserved, over_oracle, over_rule, came.cards / float(mean.sum()))


def _over(held: float, other: Ledger, unserved: float) -> float | None:
    least = float(cheapest(other, np.array([unserved]), np.ones((len(other.asked), 1)))[0])
    return held / least if np.isfinite(least) and least > 0 else None


def _ratio(ratio: float | None) -> str:
    return "never so little" if ratio is None else f"{ratio:.2f}"


def _placing(placing: Placing | None) -> dict[str, Any] | None:
    if placing is None:
        return None
    low, high = placing.interval
    return {"slices": placing.slices, "left_over_by_past": placing.ratio, "low": low, "high": high}


def _as_json(
    scene: Scene, settings: ReplayFleet, asked: Asked, told: Sequence[tuple[float, Sequence[Found]]]
) -> dict[str, Any]:
    return {
        "is_simulated": True,
        "scored_days": scene.days,
        "reading": scene.reading,
        "unserved_asked_for": settings.unserved,
        "workloads": len(scene.parts),
        "sleepers_on_a_slice": asked.sleepers,
        "wake_s": asked.wake_s,
        "lags": [
            {
                "lag_s": lag_s,
                "policies": [
                    {
                        "baseline": each.baseline,
                        "settings": [str(setting) for setting in each.pooled.baselines],
                        "unserved": each.unserved,
                        "over_oracle": each.over_oracle,
                        "over_best_rule": each.over_rule,
                        "pool_cards": each.pooled.cards,
                        "pool_of_mean_use": each.of_mean,
                        "short_of_the_time": each.pooled.short,
                        "wakes_per_workload_day": each.pooled.wakes_per_day,
                        "placing_by_forecast": _placing(each.placing),
                    }
                    for each in found
                ],
            }
            for lag_s, found in told
        ],
    }
