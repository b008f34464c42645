"""What a replayed day says to its fleet: which lever pays, for whom a forecast does not, who is late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fleet.workload import WorkloadKey
from foreslice.replayed import Policy, Replayed
from predictor.forecasters.last_value import LastValue
from predictor.forecasters.residual import Residual

RULE = "rule"
"""What a forecaster is called in whose place a rule decides."""

PATTERNLESS = {LastValue.rung, Residual.rung}
"""Rungs that go by the newest work alone, as rules without a forecast do."""

MOST_NAMED = 4
"""Workloads that a line names at most."""

LEAST_NAMED = 0.05
"""Share of the late requests from which on their workload is named."""

EVEN = 0.02
"""Share of GPU-hours under which two policies take about the same: first fit alone moves that much."""


def advice(days: Sequence[Replayed]) -> list[str]:
    """Return what this fleet should do, one line each; what was not played has no say."""
    by_policy = {day.policy: day for day in days}
    return [*_levers(by_policy), *_for_whom(by_policy), *_late(days[0])]


def _levers(by_policy: Mapping[Policy, Replayed]) -> Iterator[str]:
    ours = by_policy.get(Policy.FORESLICE)
    is_ruled = ours is not None and bool(ours.rungs) and not any(map(_is_forecast, ours.rungs.values()))
    steps = (
        (
            "slices that move by a rule, instead of whole GPUs",
            Policy.STATIC,
            Policy.FORECAST_OFF,
        ),
        (
            "rules by workload (no forecast decided at the end), instead of one rule"
            if is_ruled
            else "the forecast, instead of the rule",
            Policy.FORECAST_OFF,
            Policy.FORESLICE,
        ),
        ("a standby pool, beside the rule", Policy.FORECAST_OFF, Policy.RULE_POOL),
        ("a standby pool, beside the forecast", Policy.FORESLICE, Policy.FORECAST_POOL),
        (
            f"to know demand, instead of {'going by rules' if is_ruled else 'forecasting it'}",
            Policy.FORESLICE,
            Policy.ORACLE,
        ),
    )
    found = []
    for name, before, after in steps:
        if before in by_policy and after in by_policy:
            one, other = by_policy[before].summary, by_policy[after].summary
            share, saved = other.gpu_hours / one.gpu_hours - 1, one.gpu_hours - other.gpu_hours
            hours = f"{abs(saved):.1f} GPU-hours {'less' if saved >= 0 else 'more'}"
            even = ", about the same" if abs(share) < EVEN else ""
            gained = round(other.attainment - one.attainment, 4) + 0.0  # no -0.00 %
            met = f"{gained:+.2%} of the requests inside their SLO"
            found.append((-saved, f"{name}: {hours} ({share:+.0%}{even}), {met}"))
    if found:
        said = "; ".join(line for _, line in sorted(found))
        yield f"Levers, the one that saves most first, each from the policy that it is beside: {said}."


def _for_whom(by_policy: Mapping[Policy, Replayed]) -> Iterator[str]:
    day = by_policy.get(Policy.FORESLICE) or by_policy.get(Policy.FORECAST_POOL)
    if day is None or not day.rungs:
        return
    rungs = {key.name: day.rungs[key] for key in day.work if key in day.rungs}
    ruled = [name for name, rung in rungs.items() if rung == RULE]
    forecast = [name for name, rung in rungs.items() if _is_forecast(rung)]
    if ruled:
        yield f"A forecast does not pay for {_named(ruled)}: a rule decided there at the end."
    if forecast:
        yield f"A forecast decided at the end for {_named(forecast)}."
    if others := [name for name in rungs if name not in {*ruled, *forecast}]:
        yield f"The newest work and its rises decided at the end for {_named(others)}: no pattern is known."


def _is_forecast(rung: str) -> bool:
    """Return whether a pattern has a say; windows may differ, and their rungs stand with a + between them."""
    return rung != RULE and not set(rung.split(" + ")) <= PATTERNLESS


def _late(day: Replayed) -> Iterator[str]:
    late: dict[WorkloadKey, float] = {
        key: day.detail.offered[key] * (1 - share)
        for key, share in day.summary.attainment_by_workload.items()
    }
    total = sum(late.values())
    if not total:
        yield f"Under {day.policy} no request was outside its SLO."
        return
    worst = sorted(late, key=lambda key: -late[key])[:MOST_NAMED]
    said = ", ".join(
        f"{key.name} ({late[key] / total:.0%}, late in {day.detail.violation_minutes[key]} minutes)"
        for key in worst
        if late[key] >= LEAST_NAMED * total or key == worst[0]
    )
    yield f"Under {day.policy} the requests outside their SLO are those of {said}."


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    listed = ", ".join(names[:MOST_NAMED])
    return f"{len(names)} ({listed}{f' and {more} more' if more > 0 else ''})"
