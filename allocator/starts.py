"""When engines on one card start: one after the other, and early enough for the peak.

An engine profiles free memory when it starts. Two that start together on one card both see too little or
too much, and memory that a neighbour gives back meanwhile aborts the start (vLLM issues 10643, 9198).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    """One engine's start.

    Attributes:
        name: Which engine.
        at_s: Latest time at which it starts.
        ready_at_s: When it is ready then; until that time nothing on the card may start, stop or shrink.
    """

    name: str
    at_s: float
    ready_at_s: float


def latest_starts(durations_s: Mapping[str, float], ready_by_s: float, margin_s: float) -> tuple[Start, ...]:
    """Return the latest starts on one card, first to last, with which all are ready in time.

    The longest goes first: what is late by chance then delays least of the others.

    Args:
        durations_s: How long each engine takes to be ready.
        ready_by_s: When all must be ready.
        margin_s: How long before that the last is to be ready.
    """
    starts: list[Start] = []
    ready_at_s = ready_by_s - margin_s
    for name, duration_s in sorted(durations_s.items(), key=lambda item: (item[1], item[0])):
        starts.append(Start(name, ready_at_s - duration_s, ready_at_s))
        ready_at_s -= duration_s
    return tuple(reversed(starts))


def is_quiet(starts: tuple[Start, ...], at_s: float) -> bool:
    """Return whether a tenant of the card may be stopped or shrunk: no engine is starting on it."""
    return not any(start.at_s <= at_s < start.ready_at_s for start in starts)
