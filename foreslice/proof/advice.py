"""What a replay says in words: what the forecast is worth, which lever pays, and who leaves work unserved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from foreslice.proof.split import BURSTS, binding_of, by_kind, hours_at_once
from foreslice.proof.sweep import OFF, ORACLE, OURS, STATIC_GPU, STATIC_MIG, Run
from foreslice.proof.trail import trail_of
from foreslice.settings.durations import written
from predictor.value.worth import LEAST_PRIZE, Value, value_of

NEAR_BOUND = 1.10
"""Oracle over bound above which it is told which limit costs that."""

MISSED = 1.5
"""Times what may go unserved from which on it is told that more did."""

MOST_NAMED = 4
"""Workloads that a line names at most."""

LEAST_NAMED = 0.05
"""Share of what goes unserved from which on its workload is named."""


@dataclass(frozen=True, slots=True)
class Lever:
    """What one step saves beside the one before it.

    Attributes:
        name: The step.
        saved: Card-hours; below 0 it costs them.
        share: Of what was held before it.
    """

    name: str
    saved: float
    share: float


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


def levers(run: Run) -> list[Lever]:
    """Return what slices, motion, the forecast and a lag of nothing save, the most first.

    Each is measured from the one before it, at the work that foreslice left unserved; one that cannot be had
    at so little is left out. A lag of nothing is measured from the best rule without a forecast.
    """
    whole, slices, off, ours = (run.hours(name) for name in (STATIC_GPU, STATIC_MIG, OFF, OURS))
    steps = (
        ("slices instead of whole cards, both standing still", whole, slices),
        ("capacity that moves by a rule instead of standing still", slices, off),
        ("the forecast instead of the rule", off, ours if _has_forecast(run) else None),
        ("orders that are ready at once, by a rule", off, hours_at_once(run)),
    )
    found = [
        Lever(name, before - after, 1 - after / before) for name, before, after in steps if before and after
    ]
    return sorted(found, key=lambda one: -one.saved)


def worth_by_workload(run: Run) -> Mapping[str, Value]:
    """Return what the forecast is worth to each workload, beside its own best rule in hindsight."""
    every = zip(run.courses, *(run.books[name].parts for name in (OFF, OURS, ORACLE)), strict=True)
    return {
        course.part.name: value_of(off, ours, oracle)
        for course, off, ours, oracle in every
        if ours.asked.sum() > 0
    }


def advice(runs: Sequence[Run], unserved: float) -> list[str]:
    """Return what this fleet should do, one line each.

    Args:
        runs: By lag.
        unserved: Share of the work that may go unserved.
    """
    return [line for run in runs for line in _lines(run, unserved)] + list(_lead_time(runs, unserved))


def _lines(run: Run, unserved: float) -> Iterator[str]:
    lag, value = written(run.grid.lag_s), run.value[OURS]
    if miss := run.misses(OURS):
        yield (
            f"At {lag} foreslice has no figure but its miss ({miss}): what is said of hours is at the "
            f"{value.unserved:.2%} that it left."
        )
    pays = _has_forecast(run) and value.low is not None and value.low > 0 and run.is_informative
    if pays and value.saved is not None:
        yield f"At {lag} a forecast pays: {value.saved:.1%} fewer GPU-hours than the best rule without one."
    else:
        yield f"At {lag} nothing shows that a forecast pays: {verdict(run)}."
    yield from _for_whom(run)
    if found := levers(run):
        said = "; ".join(
            f"{one.name}, {abs(one.saved):.1f} GPU-hours {'less' if one.saved >= 0 else 'more'} "
            f"({-one.share:+.0%})"
            for one in found
        )
        reading = "" if run.is_informative else ", as orientation"
        yield f"Levers at {lag}{reading}, the one that saves most first: {said}."
    if value.unserved > MISSED * unserved:
        yield f"At {lag} {value.unserved:.2%} went unserved where {unserved:.2%} was allowed."
    yield from _eaters(run)
    yield from _limits(run)


def _has_forecast(run: Run) -> bool:
    return any(choice.uses_forecast for choice in run.choices)


def _for_whom(run: Run) -> Iterator[str]:
    lag = written(run.grid.lag_s)
    if not _has_forecast(run):
        yield f"At {lag} rules decided on every scored day: forecasts had been dearer on the days before."
        return
    if not run.is_informative or len(run.courses) == 1:
        return
    kinds: dict[str, list[str]] = {"pays": [], "little": [], "open": []}
    for name, value in worth_by_workload(run).items():
        is_little = value.prize is not None and value.prize < LEAST_PRIZE
        kinds["pays" if (value.low or 0) > 0 else "little" if is_little else "open"].append(name)
    told = (
        ("pays", "a forecast pays for"),
        ("little", f"there is nothing to gain (the best rule is under {LEAST_PRIZE:g} times who knows) for"),
        ("open", "nothing shows that it pays for"),
    )
    said = "; ".join(f"{what} {_named(kinds[kind])}" for kind, what in told if kinds[kind])
    yield f"Workload by workload at {lag}, each beside its own best rule in hindsight: {said}."


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    listed = ", ".join(names[:MOST_NAMED])
    return f"{len(names)} ({listed}{f' and {more} more' if more > 0 else ''})"


def _eaters(run: Run) -> Iterator[str]:
    lacked = by_kind(run, trail_of(run, OURS))
    total = sum(float(one.sum()) for one in lacked.values())
    if len(lacked) == 1 or not total:
        return
    worst = sorted(lacked.items(), key=lambda entry: -entry[1].sum())[:MOST_NAMED]
    said = ", ".join(
        f"{name} ({one.sum() / total:.0%}, {one[BURSTS] / one.sum():.0%} of it in bursts)"
        for name, one in worst
        if one.sum() >= LEAST_NAMED * total or name == worst[0][0]
    )
    bursts = float(np.sum([one[BURSTS] for one in lacked.values()])) / total
    end = (
        "; what comes in bursts is met by a standby pool or by capacity that stands still, not by a forecast"
        if bursts > 1 / 2
        else ""
    )
    yield f"What goes unserved at {written(run.grid.lag_s)} is that of {said}{end}."


def _limits(run: Run) -> Iterator[str]:
    binding = binding_of(run)
    if binding is not None and binding.both > NEAR_BOUND:
        yield (
            f"At {written(run.grid.lag_s)} who knows demand holds {binding.both:.2f} times the bound: "
            f"{binding.lag:.2f} times for the lag alone, {binding.quiet:.2f} times for the quiet time alone."
        )


def _lead_time(runs: Sequence[Run], unserved: float) -> Iterator[str]:
    first, last = (end(runs, key=lambda run: run.grid.lag_s) for end in (min, max))
    short, long = (run.hours(OFF, unserved) for run in (first, last))
    if first is not last and short and long and long > short:
        yield (
            f"A lag of {written(first.grid.lag_s)} instead of {written(last.grid.lag_s)} saves "
            f"{1 - short / long:.0%} at {unserved:.2%} unserved, without any forecast."
        )
