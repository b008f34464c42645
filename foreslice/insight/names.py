"""Workloads as people name them."""

from __future__ import annotations

from collections.abc import Sequence

from fleet.errors import InputError
from fleet.workload import Workload


def named(name: str, workloads: Sequence[Workload]) -> Workload:
    """Return the workload of this name, without namespace where that is clear; `InputError` if none is."""
    found = [w for w in workloads if name in {str(w.key), w.key.name}]
    if len(found) != 1:
        known = ", ".join(sorted(str(workload.key) for workload in workloads))
        what = "several workloads have this name" if found else "no such workload in the settings"
        raise InputError(what, where=name, fix=f"one of {known}")
    return found[0]
