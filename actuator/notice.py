"""What is said of a workload where its owner looks: one line that says why."""

from __future__ import annotations

from dataclasses import dataclass

from fleet.workload import WorkloadKey


@dataclass(frozen=True, slots=True)
class Notice:
    """One line about a workload, or about the service as a whole.

    Attributes:
        about: Which workload, `None` = the service.
        reason: What kind of news, one word in CamelCase.
        note: What happened and why, one line.
        is_warning: Whether somebody should look at it.
        at_s: When, seconds since the epoch.
    """

    about: WorkloadKey | None
    reason: str
    note: str
    is_warning: bool
    at_s: float
