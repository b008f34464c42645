"""The figures of a replay, for scripts and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from foreslice.proof.scene import Scene
from foreslice.proof.sweep import OFF, ORACLE, OURS, STATIC_GPU, Run
from foreslice.proof.trail import Figures
from foreslice.settings.durations import written
from predictor.value.worth import LEAST_PRIZE

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
    }


def chosen_after(told: Sequence[Told]) -> int:
    """Return how many settings of ours were chosen on blocks that they were scored on."""
    return sum(choice.sees_until > choice.block for one in told for choice in one.run.choices)


def _lag(told: Told) -> dict[str, Any]:
    run = told.run
    return {
        "lag_s": run.grid.lag_s,
        "verdict": verdict(run),
        "value": {name: asdict(value) for name, value in run.value.items()},
        "choices": [
            {
                "block": c.block - run.grid.first_block,
                "setting": str(c.setting),
                "uses_forecast": c.uses_forecast,
            }
            for c in run.choices
        ],
        "policies": {name: _policy(told, name) for name in told.figures},
    }


def _policy(told: Told, name: str) -> dict[str, Any]:
    run, figures = told.run, told.figures[name]
    hours, known = run.hours(name), run.hours(ORACLE)
    miss = run.misses(name)
    return {
        "setting": str(run.at(name).knobs[0]),
        "miss": miss or None,
        "gpu_hours": None if miss else hours,
        "over_oracle": None if miss or hours is None or not known else hours / known,
        **{key: figure for key, figure in asdict(figures).items() if not miss or key in _OF_A_MISS},
    }


_OF_A_MISS = {"attainment", "worst", "worst_attainment", "violation_minutes"}


def verdict(run: Run) -> str:
    """Return what V says, in one line."""
    value = run.value[OURS]
    at = f"at {value.unserved:.2%} unserved, {value.blocks} blocks, {run.reading}"
    if value.prize is None:
        return f"not decidable: no rule without a forecast leaves so little ({at})"
    if value.value is None or value.low is None or value.high is None:
        return f"not decidable: off / oracle {value.prize:.2f} is under {LEAST_PRIZE:g} ({at})"
    said = f"V {value.value:.2f} [{value.low:.2f} {value.high:.2f}], off / oracle {value.prize:.2f} ({at})"
    return (
        said
        if run.is_informative
        else f"not decidable, the lag is under a step of the data; as orientation {said}"
    )


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


def advice(told: Sequence[Told], unserved: float) -> list[str]:
    """Return what this fleet should do, one line each."""
    lines = []
    for one in told:
        run, value, lag = one.run, one.run.value[OURS], written(one.run.grid.lag_s)
        pays = value.low is not None and value.low > 0 and run.is_informative
        if pays and value.saved is not None:
            lines.append(
                f"At {lag} a forecast pays: {value.saved:.1%} fewer GPU-hours than the best rule without one."
            )
        else:
            lines.append(f"At {lag} nothing shows that a forecast pays: {verdict(run)}.")
        whole, sliced = run.hours(STATIC_GPU), run.hours(OURS)
        if whole and sliced:
            lines.append(
                f"At {lag} slices that move take 1/{whole / sliced:.2f} of whole GPUs that stand still."
            )
        if value.unserved > 1.5 * unserved:
            lines.append(f"At {lag} {value.unserved:.2%} went unserved where {unserved:.2%} was allowed.")
    first, last = told[0].run, told[-1].run
    short, long = first.hours(OFF), last.hours(OFF)
    if first is not last and short and long and long > short:
        lines.append(
            f"A lag of {written(first.grid.lag_s)} instead of {written(last.grid.lag_s)} saves "
            f"{1 - short / long:.0%}, without any forecast."
        )
    lines += _eaters(last)
    return lines


def _eaters(run: Run) -> list[str]:
    lacked = [float(part.lacked.sum()) for part in run.books[OURS].parts]
    total = sum(lacked)
    if len(lacked) < _MANY or not total:
        return []
    worst = sorted(range(len(lacked)), key=lambda at: -lacked[at])[:3]
    names = ", ".join(f"{run.courses[at].part.name} ({lacked[at] / total:.0%})" for at in worst)
    return [f"What goes unserved at {written(run.grid.lag_s)} is that of {names}."]


_MANY = 4
