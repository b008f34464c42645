"""The figures of a replay in words and rows, the same for the terminal, the page and the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fleet.workload import WorkloadKey
from foreslice.replay import Day
from foreslice.replayed import Policy, Replayed
from foreslice.report import pool
from foreslice.report.advice import advice
from simulator.account import Summary
from simulator.traces import TRACE_STEP_S
from simulator.traffic import DAY_S, MINUTE_S, Tenant

Tenants = Mapping[WorkloadKey, Tenant]

HEAD = ("policy", "GPU-hours", "vs static", "SLO met", "unserved", "changes", "starts", "cut")

COSTS_HEAD = (
    "policy",
    "nodes",
    "fixed pool",
    "util.",
    "in SLO / GPU-hour",
    "TTFT met",
    "ITL met",
    "minutes late",
    "changes a day",
    "repartitions",
)

TENANTS_HEAD = (
    "tenant",
    "traffic",
    "model",
    "tier",
    "peak work",
    "forecaster",
    "SLO attainment",
    "minutes late",
    "steps",
    "why that forecaster",
)

LEAST_PRIZE = 1.05
"""Below this ratio of the rule's GPU-hours to the oracle's, what a forecast is worth is noise."""


def disclosure(day: Day) -> str:
    """Return what is real of a replay, and what is not."""
    return (
        "Simulated: cards, nodes, the cluster's API, its delays and the engines; no figure is a measurement "
        f"of hardware. Semi-synthetic: {day.traffic}, made continuous, arrivals drawn within them. Real: the "
        "code that forecasts, decides and acts."
    )


def head(days: Sequence[Replayed]) -> tuple[str, ...]:
    """Return the names of the columns of `rows`."""
    return HEAD + (pool.HEAD if _has_pool(days) else ())


def rows(days: Sequence[Replayed]) -> list[tuple[str, ...]]:
    """Return one row a policy, in words; static whole GPUs are one of them."""
    static = next(day for day in days if day.policy is Policy.STATIC).summary.gpu_hours
    return [
        (
            str(day.policy),
            f"{day.summary.gpu_hours:.1f}",
            f"{day.summary.gpu_hours / static:.2f} x",
            f"{day.summary.attainment:.2%}",
            f"{day.summary.unserved_share:.3%}",
            str(day.summary.changes),
            str(day.summary.pods_started),
            f"{day.summary.requests_cut:.0f}",
            *(pool.cells(day) if _has_pool(days) else ()),
        )
        for day in days
    ]


def cost_rows(days: Sequence[Replayed]) -> list[tuple[str, ...]]:
    """Return one row a policy of what else it took and how late it was, under `COSTS_HEAD`."""
    return [_cost(day) for day in days]


def _cost(day: Replayed) -> tuple[str, ...]:
    more = day.detail
    met = (more.attainment.get(term) for term in ("ttft", "itl"))
    return (
        str(day.policy),
        f"{more.node_hours:.0f}",
        f"{more.fixed_pool_hours:.0f}",
        f"{_utilisation(day):.0%}",
        f"{_goodput(day):.0f}",
        *("-" if share is None else f"{share:.2%}" for share in met),
        str(sum(more.violation_minutes.values())),
        f"{_changes_per_day(day):.1f}",
        str(more.repartitions),
    )


def _utilisation(day: Replayed) -> float:
    return day.detail.work_hours / day.summary.gpu_hours if day.summary.gpu_hours else 0.0


def _goodput(day: Replayed) -> float:
    inside = day.summary.attainment * day.summary.requests_offered
    return inside / day.summary.gpu_hours if day.summary.gpu_hours else 0.0


def _changes_per_day(day: Replayed) -> float:
    days = len(day.minutes_s) * MINUTE_S / DAY_S
    return day.summary.changes / len(day.work) / days


def _has_pool(days: Sequence[Replayed]) -> bool:
    return any(day.pool is not None for day in days)


def tenant_rows(ours: Replayed, tenants: Tenants) -> list[tuple[str, ...]]:
    """Return one row a tenant of our day, in words."""
    return [
        (
            key.name,
            f"{tenants[key].kind} ({tenants[key].client})",
            tenants[key].workload.model,
            str(tenants[key].workload.tier),
            f"{ours.work[key].max():.2f}",
            ours.rungs.get(key, "none"),
            f"{ours.summary.attainment_by_workload[key]:.2%}",
            str(ours.detail.violation_minutes[key]),
            str(sum(step.workload == key for step in ours.steps)),
            ours.becauses.get(key, "nobody judges it"),
        )
        for key in ours.work
    ]


def readings(days: Sequence[Replayed], day: Day) -> list[str]:
    """Return what the table says and what it cannot say, one sentence each."""
    by_policy = {day.policy: day for day in days}
    step = (
        f"The traffic's step is {TRACE_STEP_S // 60} minutes and capacity is ready sooner than that: how "
        "demand moves inside a step is drawn, so this day cannot tell what a forecast is worth at such lead "
        "times."
    )
    return [
        *_readings(days[0], {policy: one.summary for policy, one in by_policy.items()}),
        *pool.readings(by_policy),
        *([step] if day.timing.lead_s < TRACE_STEP_S else []),
    ]


def _readings(first: Replayed, by_policy: Mapping[Policy, Summary]) -> Iterator[str]:
    """Yield what the first policy is beside those of the others that were played."""
    ours, static = first.summary, by_policy[Policy.STATIC]
    off, oracle = by_policy.get(Policy.FORECAST_OFF), by_policy.get(Policy.ORACLE)
    yield (
        f"{first.policy} took {ours.gpu_hours / static.gpu_hours:.2f} of the GPU-hours of static whole GPUs "
        "sized for the 99.9 % quantile of the days before, at "
        f"{ours.attainment:.2%} attainment against {static.attainment:.2%}."
    )
    if off is not None and first.policy is Policy.FORESLICE:
        yield (
            "Against the same service with the forecast off (k x the maximum of the last hour, k tuned on "
            f"the days before) it took {ours.gpu_hours / off.gpu_hours:.2f} of the GPU-hours, at "
            f"{ours.attainment:.2%} attainment against {off.attainment:.2%} and with "
            f"{ours.unserved_share:.3%} of the work unserved against {off.unserved_share:.3%}."
        )
    key, least = min(ours.attainment_by_workload.items(), key=lambda entry: entry[1])
    others = [
        f", {summary.attainment_by_workload[key]:.2%} {named}"
        for named, summary in (("with the forecast off", off), ("under the oracle", oracle))
        if summary is not None and summary is not ours
    ]
    yield f"Worst off is {key.name}: {least:.2%} attainment{''.join(others)}."
    yield (
        f"Of {ours.gpu_hours:.0f} GPU-hours, {ours.slice_hours:.0f} were slices in use; the rest was room "
        "left free on cards by first-fit placement."
    )
    if off is not None and oracle is not None and (prize := off.gpu_hours / oracle.gpu_hours) < LEAST_PRIZE:
        yield (
            f"The rule without a forecast is within {abs(prize - 1):.1%} of the oracle's GPU-hours: what a "
            "forecast is worth cannot be decided on this day."
        )


def summary(days: Sequence[Replayed], tenants: Tenants, day: Day) -> dict[str, Any]:
    """Return the figures for scripts; the same seed gives the same."""
    return {
        "seed": day.seed,
        "disclosure": disclosure(day),
        "policies": {
            str(day.policy): {
                "gpu_hours": round(day.summary.gpu_hours, 4),
                "slice_hours": round(day.summary.slice_hours, 4),
                "attainment": round(day.summary.attainment, 6),
                "unserved_share": round(day.summary.unserved_share, 8),
                "requests_offered": round(day.summary.requests_offered),
                "requests_cut": round(day.summary.requests_cut, 4),
                "changes": day.summary.changes,
                "engines_started": day.summary.pods_started,
                "attainment_by_workload": {
                    str(key): round(share, 6) for key, share in day.summary.attainment_by_workload.items()
                },
                **_more(day, days),
                "pool": pool.as_json(day),
            }
            for day in days
        },
        "tenants": [dict(zip(TENANTS_HEAD, row, strict=True)) for row in tenant_rows(days[0], tenants)],
        "reading": readings(days, day),
        "advice": advice(days),
        "steps": [
            {
                "at_s": step.at_s,
                "workload": str(step.workload),
                "verb": str(step.verb),
                "variant": step.variant,
                "replicas": step.replicas,
                "because": step.because,
            }
            for step in days[0].steps
        ],
    }


def _more(day: Replayed, days: Sequence[Replayed]) -> dict[str, Any]:
    more, hours = day.detail, {one.policy: one.summary.gpu_hours for one in days}
    return {
        "over_static": _over(day, hours.get(Policy.STATIC)),
        "over_oracle": _over(day, hours.get(Policy.ORACLE)),
        "node_hours": round(more.node_hours, 4),
        "fixed_pool_hours": round(more.fixed_pool_hours, 4),
        "utilisation": round(_utilisation(day), 6),
        "in_slo_per_gpu_hour": round(_goodput(day), 4),
        "attainment_by_term": {term: round(share, 6) for term, share in more.attainment.items()},
        "attainment_by_workload_and_term": {
            str(key): {term: round(share, 6) for term, share in terms.items()}
            for key, terms in more.attainment_by_workload.items()
        },
        "violation_minutes": {str(key): minutes for key, minutes in more.violation_minutes.items()},
        "changes_per_workload_day": round(_changes_per_day(day), 4),
        "repartitions": more.repartitions,
    }


def _over(day: Replayed, hours: float | None) -> float | None:
    return round(day.summary.gpu_hours / hours, 6) if hours else None
