"""Whether a workload may be left more to foreslice: the evidence for the next rung of the mode ladder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from actuator.ports import PlanRecord
from fleet.change import StepState, Verb
from fleet.workload import Mode, Workload
from foreslice.insight.verdict import State, Verdict
from foreslice.outlook import Outlook
from predictor.steps import DAY_S

LEAST_DAYS = 3.0
"""Days of known demand before anything is advised: two repeats of a daily pattern, and one to check it on."""

LEAST_KNOWN = 0.95
"""Share of those minutes that has to be known."""

LEAST_STARTS = 5
"""Additions that became ready before removals are allowed: fewer say little of how long one takes."""


@dataclass(frozen=True, slots=True)
class Check:
    """One piece of evidence.

    Attributes:
        name: What is looked at.
        is_met: Whether it speaks for the next mode.
        seen: What was seen, one clause.
    """

    name: str
    is_met: bool
    seen: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a workload.

    Attributes:
        workload: Which.
        verdict: How it is now.
        known_s: Time of its history in which demand was known.
        history_s: Time since it first was.
        outlook: What is expected of it, `None` = nothing was read.
        objections: What the cluster has against what would be written for it now.
        distrust: Why nothing could be removed on the present evidence.
        plans: Its kept plans.
        starts: Additions of them that became ready.
        budgets: PodDisruptionBudgets that select its pods.
    """

    workload: Workload
    verdict: Verdict
    known_s: float
    history_s: float
    outlook: Outlook | None
    objections: Sequence[str] = ()
    distrust: Sequence[str] = ()
    plans: Sequence[PlanRecord] = ()
    starts: int = 0
    budgets: int = 0


@dataclass(frozen=True, slots=True)
class Graduation:
    """The answer for one workload.

    Attributes:
        workload: Which.
        now: Its mode in the settings.
        to: The next mode, `None` = there is none.
        checks: The evidence, in the order in which it is asked for.
    """

    workload: Workload
    now: Mode
    to: Mode | None
    checks: tuple[Check, ...]

    @property
    def is_ready(self) -> bool:
        """Whether all evidence speaks for the next mode."""
        return self.to is not None and all(check.is_met for check in self.checks)


def graduation_of(evidence: Evidence) -> Graduation:
    """Return whether a workload may go on to the next mode; each rung asks for what the ones before asked."""
    now = evidence.workload.mode
    to = Mode(now + 1) if now < Mode.FULL else None
    if to is None:
        return Graduation(evidence.workload, now, None, ())
    checks = list(_read(evidence))
    if to > Mode.FORECAST_ONLY:
        checks.append(_forecast(evidence))
    if to > Mode.ADVISE:
        checks += _writable(evidence)
    if to > Mode.SCALE_UP_ONLY:
        checks += _removable(evidence)
    return Graduation(evidence.workload, now, to, tuple(checks))


def _read(evidence: Evidence) -> Iterator[Check]:
    """Yield what a forecast takes: demand that is known."""
    days, share = evidence.known_s / DAY_S, evidence.known_s / max(evidence.history_s, 1.0)
    yield Check("history", days >= LEAST_DAYS, f"{days:.1f} days of demand are known")
    yield Check("readings", share >= LEAST_KNOWN, f"{share:.1%} of the minutes since the first known one")


def _forecast(evidence: Evidence) -> Check:
    """Return what advice takes; what is off has none yet."""
    forecast = evidence.outlook.forecast if evidence.outlook is not None else None
    if forecast is None:
        because = evidence.outlook.no_forecast_because if evidence.outlook is not None else ""
        return Check("forecast", is_met=False, seen=because or "there is none yet")
    if forecast.worth is None or forecast.worth.is_used:
        return Check("forecast", is_met=True, seen=f"{forecast.rung} decides")
    # What has no pattern is carried by the rule, which is as safe.
    return Check("forecast", is_met=True, seen=f"the rule decides: {forecast.worth.because}")


def _writable(evidence: Evidence) -> Iterator[Check]:
    """Yield what additions take: a workload that is handled, and writes that the cluster would take."""
    is_there = evidence.verdict.state is not State.ABSENT
    yield Check("handled", is_there, "it is" if is_there else evidence.verdict.why)
    seen = "; ".join(evidence.objections) or "the cluster has nothing against what would be written now"
    yield Check("dry run", not evidence.objections, seen)


def _removable(evidence: Evidence) -> Iterator[Check]:
    """Yield what removals take: additions that came, evidence that is trusted, a budget that guards."""
    failed = sum(
        kept.state is StepState.FAILED
        for record in evidence.plans
        for step, kept in zip(record.change.steps, record.steps, strict=True)
        if step.verb is not Verb.SCALE_DOWN
    )
    seen = f"{evidence.starts} became ready, {failed} failed, of the last {len(evidence.plans)} plans"
    yield Check("additions", evidence.starts >= LEAST_STARTS and not failed, seen)
    yield Check("trust", not evidence.distrust, "; ".join(evidence.distrust) or "its readings may be gone by")
    guard = f"{evidence.budgets} select its pods" if evidence.budgets else "none selects its pods"
    yield Check("disruption budget", evidence.budgets > 0, guard)
