"""The figures of a replay, for scripts and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from foreslice.proof.advice import advice, levers, verdict, worth_by_workload
from foreslice.proof.scene import Scene
from foreslice.proof.split import binding_of, split_of, worst_hours
from foreslice.proof.sweep import BOUND, ORACLE, OURS, Run, unserved_by_part
from foreslice.proof.trail import NODE, Figures, figures_of, trail_of

HEAD = (
    "policy",
    "setting",
    "GPU-hours",
    "/ oracle",
    "unserved",
    "worst workload",
    "util.",
    "changes",
    "starts",
)

COSTS = (
    "policy",
    "slices",
    "whole cards",
    f"nodes of {NODE}",
    "fixed pool",
    "/ bound",
    "served per GPU-hour",
    "unserved at our GPU-hours",
    "minutes short",
)


@dataclass(frozen=True, slots=True)
class Told:
    """One lag, told.

    Attributes:
        run: What it came to.
        figures: By policy, at the setting that counts for it.
    """

    run: Run
    figures: Mapping[str, Figures]


def as_json(scene: Scene, told: Sequence[Told], unserved: float) -> dict[str, Any]:
    """Return all figures; hours are card-hours, `null` = out of reach."""
    return {
        "scored_days": scene.days,
        "scored_from_s": scene.test_s,
        "workloads": [
            {
                "workload": part.name,
                "step_s": part.step_s,
                "shape": part.piece.shape,
                "cards": part.piece.cards,
            }
            for part in scene.parts
        ],
        "reading": scene.reading,
        "unserved_asked_for": unserved,
        "settings_chosen_after_a_scored_day": chosen_after(told),
        "lags": [_lag(one) for one in told],
        "advice": advice([one.run for one in told], unserved),
    }


def chosen_after(told: Sequence[Told]) -> int:
    """Return how many settings of ours were chosen on blocks that they were scored on."""
    return sum(choice.sees_until > choice.block for one in told for choice in one.run.choices)


def _lag(told: Told) -> dict[str, Any]:
    run = told.run
    trail, binding = trail_of(run, OURS), binding_of(run)
    return {
        "lag_s": run.grid.lag_s,
        "verdict": verdict(run),
        "value": {name: asdict(value) for name, value in run.value.items()},
        "value_by_workload": {name: asdict(value) for name, value in worth_by_workload(run).items()},
        "levers": [asdict(lever) for lever in levers(run)],
        "oracle_over_bound": None if binding is None else asdict(binding),
        "saved_if_perfect": asdict(split_of(run, figures_of(trail, run))),
        "worst_hours": [asdict(hour) for hour in worst_hours(run, trail)],
        "choices": [
            {
                "block": c.block - run.grid.first_block,
                "setting": str(c.setting),
                "uses_forecast": c.uses_forecast,
                "say_of_forecasts": c.setting.say,
            }
            for c in run.choices
        ],
        "policies": {name: _policy(told, name) for name in told.figures},
    }


def _policy(told: Told, name: str) -> dict[str, Any]:
    run, figures = told.run, told.figures[name]
    hours, miss, book = run.hours(name), run.misses(name), run.at(name)
    attained = (1.0 - unserved_by_part(book)).tolist()
    return {
        "setting": str(book.knobs[0]),
        "miss": miss or None,
        "gpu_hours": None if miss else hours,
        "over_oracle": None if miss else _over(hours, run.hours(ORACLE)),
        "over_bound": None if miss else _over(hours, run.hours(BOUND)),
        "unserved_at_our_gpu_hours": run.unserved_at(name),
        "attainment_by_workload": {
            course.part.name: share for course, share in zip(run.courses, attained, strict=True)
        },
        **{key: figure for key, figure in asdict(figures).items() if not miss or key in _OF_A_MISS},
    }


def _over(hours: float | None, others: float | None) -> float | None:
    return hours / others if hours is not None and others else None


_OF_A_MISS = {"attainment", "worst", "worst_attainment", "violation_minutes"}


def rows(told: Told) -> list[tuple[str, ...]]:
    """Return a row for each policy, under `HEAD`."""
    return [_row(told, name) for name in told.figures]


def _row(told: Told, name: str) -> tuple[str, ...]:
    run, figures = told.run, told.figures[name]
    hours, known, miss = run.hours(name), run.hours(ORACLE), run.misses(name)
    setting = str(run.at(name).knobs[0])
    if miss or hours is None:
        return (
            name,
            setting,
            "-",
            "-",
            f"{1 - figures.attainment:.2%}",
            miss or "never so little",
            "-",
            "-",
            "-",
        )
    return (
        name,
        setting,
        f"{hours:.1f}",
        f"{hours / known:.2f}" if known else "-",
        f"{1 - figures.attainment:.2%}",
        f"{figures.worst} {figures.worst_attainment:.1%}",
        f"{figures.utilisation:.0%}",
        f"{figures.changes_per_day:.1f}",
        str(figures.starts),
    )


def costs(told: Told) -> list[tuple[str, ...]]:
    """Return what each policy takes as it may be counted, and what it leaves, under `COSTS`."""
    return [_cost(told, name) for name in told.figures if not told.run.misses(name)]


def _cost(told: Told, name: str) -> tuple[str, ...]:
    run, figures = told.run, told.figures[name]
    over, left = _over(run.hours(name), run.hours(BOUND)), run.unserved_at(name)
    return (
        name,
        f"{figures.slices:.1f}",
        f"{figures.elastic:.0f}",
        f"{figures.nodes:.0f}",
        f"{figures.fixed_pool:.0f}",
        "-" if over is None else f"{over:.2f}",
        f"{figures.goodput:.2f}",
        "never so cheap" if left is None else f"{left:.2%}",
        f"{figures.violation_minutes:.0f}",
    )
