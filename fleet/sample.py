"""What a reading of one signal says: a value, a confirmed zero, or that nobody knows.

The three are kept apart by type because the most frequent failure of autoscalers is to read
"unknown" as zero. Unknown is never zero, idle is never unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """Why a sample is unknown."""

    ABSENT = "no such series"
    NOT_EXPORTED = "its engine does not export it"
    EMPTY = "query returned nothing"
    STALE = "newest reading is too old"
    NOT_A_NUMBER = "NaN without a confirmed count of zero"
    TOO_FEW = "too few readings in the window"
    PARTIAL = "the source says its answer is partial"
    FAILED = "the source did not answer"


@dataclass(frozen=True, slots=True)
class Value:
    """A measured number in the signal's unit; zero here is a measured zero of a live producer."""

    value: float


@dataclass(frozen=True, slots=True)
class Idle:
    """Every producer is present and says that there was no traffic."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows; it must never support a removal."""

    reason: Reason


Sample = Value | Idle | Unknown


def known(sample: Sample) -> float | None:
    """Return the number that a sample stands for, `None` where nobody knows it."""
    if isinstance(sample, Value):
        return sample.value
    return 0.0 if isinstance(sample, Idle) else None
