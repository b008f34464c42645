"""What is wrong, how bad it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a person should know.

    Attributes:
        severity: An error makes plans wrong, a warning may, an info explains.
        code: Stable name of the kind of finding.
        object: Kind and name of the object.
        what: What is wrong, in one clause.
        fix: What to do about it.
    """

    severity: Severity
    code: str
    object: str
    what: str
    fix: str


def error(code: str, on: str, what: str, fix: str) -> Finding:
    """Return a finding that makes plans wrong."""
    return Finding(Severity.ERROR, code, on, what, fix)


def warning(code: str, on: str, what: str, fix: str) -> Finding:
    """Return a finding that may make plans wrong."""
    return Finding(Severity.WARNING, code, on, what, fix)


def info(code: str, on: str, what: str, fix: str) -> Finding:
    """Return a finding that explains."""
    return Finding(Severity.INFO, code, on, what, fix)
