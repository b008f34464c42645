"""What was changed, from the plans that the cluster keeps: `foreslice history changes`, and in `explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from actuator.manifest import timestamp_of
from actuator.objects.plans import newest_first
from actuator.ports import PlanRecord
from fleet.errors import InputError
from foreslice import output, show
from foreslice.compose import surroundings_of
from foreslice.insight.names import named
from foreslice.settings.load import load, workloads_of


def changes_of(plans: Iterable[PlanRecord]) -> Iterator[dict[str, Any]]:
    """Yield the steps of plans, newest plan first, as scripts read them; times are RFC 3339."""
    for record in newest_first(plans):
        for step, kept in zip(record.change.steps, record.steps, strict=True):
            ready = kept.readiness
            yield {
                "workload": str(record.change.target),
                "decided_at": timestamp_of(record.change.decided_at_s),
                "verb": step.verb,
                "variant": step.variant,
                "shape": str(step.shape),
                "replicas": step.replicas,
                "state": kept.state.lower(),
                "at": timestamp_of(kept.at_s),
                "ready_s": round(ready.ready_at_s - record.change.decided_at_s, 1) if ready else None,
                "reason": step.reason,
                "note": kept.note or None,
            }


def as_line(change: dict[str, Any]) -> str:
    """Return one change as people read it."""
    ready = f", ready after {change['ready_s']:.0f} s" if change["ready_s"] is not None else ""
    note = f" ({change['note']})" if change["note"] else ""
    return (
        f"{change['at'][:19].replace('T', ' ')}  {change['workload']}: {change['verb']} {change['variant']} "
        f"to {change['replicas']} x {change['shape']}: {change['state']}{ready}{note}: {change['reason']}"
    )


def print_changes(config: Path, names: Sequence[str], *, as_json: bool) -> None:
    """Print what was changed of workloads, newest first; of none that is named: of all.

    Raises:
        InputError: Settings cannot be used, or they have no such workload or cluster.
        UnavailableError: The API server did not answer.
    """
    settings = load(config)
    known = workloads_of(settings)
    chosen = [named(name, known) for name in names] or known
    with closing(surroundings_of(settings.model_copy(update={"acting": False}), config.parent)) as opened:
        if opened.cluster is None:
            fix = "it takes a cluster that keeps plans"
            raise InputError("nothing is changed without a cluster", where="cluster.kind", fix=fix)
        plans = [record for workload in chosen for record in opened.cluster.plans(workload.key)]
    found = list(changes_of(plans))
    if as_json:
        output.print_json({"changes": found})
        return
    lines = [as_line(change) for change in found] or ["nothing was changed"]
    show.console().print("\n".join(lines), soft_wrap=True)
