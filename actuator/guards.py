"""When foreslice must keep its hands off, whatever the need says."""

from __future__ import annotations

from dataclasses import dataclass

STALE_VIEW_S = 60.0
"""A cluster view that was not confirmed for this long may miss what others did."""

STALE_METRICS_S = 300.0
"""Readings that are this old say nothing about now; additions by forecast go on."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Reasons to stop, one line each; none = go on.

    Attributes:
        everything: Nothing is written.
        moves: Nothing is planned, moved or removed; due additions go on.
    """

    everything: tuple[str, ...] = ()
    moves: tuple[str, ...] = ()


def halt(*, is_leader: bool, view_age_s: float | None, metrics_age_s: float | None) -> Halt:
    """Return what must stop now, and why.

    Args:
        is_leader: Whether this process holds the lease.
        view_age_s: Seconds since the cluster view was last confirmed, `None` = never since start.
        metrics_age_s: Seconds since the metrics source last answered, `None` = never since start.
    """
    everything = []
    if not is_leader:
        everything.append("another process leads")
    if view_age_s is None:
        everything.append("the cluster has not been seen since the start")
    return Halt(tuple(everything), (*_stale_view(view_age_s), *_stale_metrics(metrics_age_s)))


def _stale_view(age_s: float | None) -> tuple[str, ...]:
    if age_s is None or age_s <= STALE_VIEW_S:
        return ()
    return (f"the cluster view is {age_s:.0f} s old, at most {STALE_VIEW_S:.0f} s are trusted",)


def _stale_metrics(age_s: float | None) -> tuple[str, ...]:
    if age_s is None:
        return ("no metrics have been read since the start",)
    if age_s <= STALE_METRICS_S:
        return ()
    return (f"the newest metrics are {age_s:.0f} s old, at most {STALE_METRICS_S:.0f} s are trusted",)
