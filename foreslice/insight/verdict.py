"""Whether every workload carries what is asked of it right now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from fleet.workload import Workload, WorkloadKey
from foreslice.tick import Tick

DEAD_AFTER_S = 600.0
"""A lease that was last renewed so long ago is nobody's: the watchdog takes over then."""


class State(StrEnum):
    """How a workload is, from good to bad."""

    CARRIED = "carried"
    RISING = "rising"
    UNKNOWN = "unknown"
    SHORT = "short"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one workload is; work in full reference replicas.

    Attributes:
        workload: Which.
        mode: How far foreslice may go, pauses included.
        state: What it comes to.
        ready: Work that is carried at least by what serves now, `None` where that is not seen.
        asked: Work that is asked for now, `None` where that is unknown.
        need: Work that will be needed within the lead time, `None` before a first forecast.
        why: One clause.
    """

    workload: WorkloadKey
    mode: str
    state: State
    ready: float | None
    asked: float | None
    need: float | None
    why: str


@dataclass(frozen=True, slots=True)
class Safety:
    """The answer to whether it is safe right now.

    Attributes:
        is_safe: `None` where it cannot be told.
        line: The answer in one line.
        verdicts: What it rests on.
    """

    is_safe: bool | None
    line: str
    verdicts: tuple[Verdict, ...]


def verdicts_of(tick: Tick, workloads: Iterable[Workload]) -> tuple[Verdict, ...]:
    """Return how every workload is, worst first."""
    order = list(State)
    found = [_verdict(tick, workload) for workload in workloads]
    return tuple(sorted(found, key=lambda each: (-order.index(each.state), each.workload)))


def safety_of(verdicts: Sequence[Verdict], led_s_ago: float | None, *, is_acting: bool) -> Safety:
    """Return whether it is safe.

    Args:
        verdicts: How every workload is.
        led_s_ago: How long ago a leader last renewed its lease, `None` if there never was one.
        is_acting: Whether settings let foreslice act, so that somebody should lead.
    """
    bad = [each for each in verdicts if each.state in {State.SHORT, State.ABSENT}]
    unknown = [each for each in verdicts if each.state is State.UNKNOWN]
    if not verdicts:
        return Safety(is_safe=None, line="not known: every workload is off", verdicts=())
    rising = sum(each.state is State.RISING for each in verdicts)
    led, is_led = _lead(led_s_ago, is_acting=is_acting)
    named = ", ".join(f"{each.workload} ({each.why})" for each in (bad or unknown)[:3])
    more = len(bad or unknown) - 3
    named += f" and {more} more" if more > 0 else ""
    if bad:
        return Safety(is_safe=False, line=f"not safe: {named}; {led}", verdicts=tuple(verdicts))
    if unknown:
        return Safety(is_safe=None, line=f"not known: {named}; {led}", verdicts=tuple(verdicts))
    all_of = f"all {len(verdicts)} workloads carry" if len(verdicts) > 1 else "the workload carries"
    coming = f", {rising} of them have to grow for what is coming" if rising else ""
    if not is_led:
        return Safety(
            is_safe=False,
            line=f"safe for now only: {all_of} what is asked{coming}, but {led}",
            verdicts=tuple(verdicts),
        )
    return Safety(is_safe=True, line=f"safe: {all_of} what is asked{coming}; {led}", verdicts=tuple(verdicts))


def _verdict(tick: Tick, workload: Workload) -> Verdict:
    key = workload.key
    need, outlook = tick.needs.get(key), tick.outlooks.get(key)
    standing = tick.fleet.standing(key) if tick.fleet is not None else None
    mode = workload.mode if standing is None else min(workload.mode, standing.permits)
    asked = need.reactive if need is not None else None
    up = need.up if need is not None and outlook is not None and not outlook.is_blind else None
    if standing is None:
        refused = tick.fleet.refused.get(key) if tick.fleet is not None else None
        why = refused or ("no cluster is seen" if tick.fleet is None else "the cluster does not have it")
        state = State.UNKNOWN if tick.fleet is None else State.ABSENT
        return Verdict(key, mode.label, state, None, asked, up, why)
    ready = outlook.offers.carried(standing.ready) if outlook is not None and not outlook.is_blind else None
    state, why = _state(ready, asked, up)
    return Verdict(key, mode.label, state, ready, asked, up, why)


def _state(ready: float | None, asked: float | None, up: float | None) -> tuple[State, str]:
    if ready is None or up is None:
        return State.UNKNOWN, "its demand was never read"
    if asked is None:
        return State.UNKNOWN, "demand now is unknown"
    if ready < asked:
        return State.SHORT, f"carries {ready:.2f} of {asked:.2f} asked"
    if ready < up:
        return State.RISING, f"carries what is asked, {up:.2f} will be needed and {ready:.2f} is ready"
    return State.CARRIED, f"carries {ready:.2f}, {asked:.2f} is asked, {up:.2f} may come"


def _lead(led_s_ago: float | None, *, is_acting: bool) -> tuple[str, bool]:
    """Return who leads in one clause, and whether that is as it should be."""
    if not is_acting:
        return "foreslice does not act", True
    if led_s_ago is None:
        return "nobody has ever led: foreslice does not run", False
    if led_s_ago > DEAD_AFTER_S:
        return f"nobody has led for {led_s_ago / 60:.0f} min", False
    return f"foreslice leads, seen {led_s_ago:.0f} s ago", True
