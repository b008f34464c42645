"""``foreslice graduation``: the evidence, gathered and shown."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from fleet.workload import WorkloadKey
from foreslice import output, show
from foreslice.compose import surroundings_of
from foreslice.history import read_history, without_cluster
from foreslice.insight.graduation import Evidence, Graduation, graduation_of
from foreslice.insight.look import Look, look
from foreslice.insight.names import named
from foreslice.insight.verdict import verdicts_of
from predictor.demand import USUAL_BUCKETS
from predictor.ports import BUCKET_S
from predictor.tidy import State, tidy


def print_graduation(config: Path, names: list[str], *, as_json: bool) -> None:
    """Print for workloads, all if none is named, what speaks for and against their next mode.

    Raises:
        InputError: Settings cannot be used, or they have no such workload.
        UnavailableError: Metrics or cluster did not answer.
    """
    seen = look(config)
    chosen = [named(name, seen.workloads) for name in names] or list(seen.workloads)
    known = _known_s(seen, config.parent)
    found = [graduation_of(_evidence(seen, workload.key, known)) for workload in chosen]
    if as_json:
        output.print_json(
            {"is_simulated": seen.is_simulated, "workloads": [_as_json(each) for each in found]}
        )
        return
    console = show.console()
    ready = [each for each in found if each.is_ready]
    console.print(f"{len(ready)} of {len(found)} workloads may go on to their next mode.")
    if seen.is_simulated:
        console.print("Simulated: cards, nodes, the cluster's API, its delays and the engines.")
    table = show.table("workload", "mode", "next", "evidence", "is", "seen")
    for each in found:
        head = (str(each.workload.key), each.now.label, each.to.label if each.to is not None else "-")
        for check in each.checks:
            style = "green" if check.is_met else "yellow"
            table.add_row(*head, check.name, "met" if check.is_met else "not met", check.seen, style=style)
        if not each.checks:
            table.add_row(*head, "-", "-", "there is no further mode")
    console.print(table)


def _evidence(seen: Look, key: WorkloadKey, known_s: Mapping[WorkloadKey, tuple[float, float]]) -> Evidence:
    workload = next(workload for workload in seen.workloads if workload.key == key)
    (verdict,) = verdicts_of(seen.tick, [workload])
    standing = seen.tick.fleet.standing(key) if seen.tick.fleet is not None else None
    need = seen.tick.needs.get(key)
    return Evidence(
        workload=workload,
        verdict=verdict,
        known_s=known_s[key][0],
        history_s=known_s[key][1],
        outlook=seen.tick.outlooks.get(key),
        objections=seen.objections.get(key, ()),
        distrust=need.distrust if need is not None else ("no need is known",),
        plans=seen.plans.get(key, ()),
        starts=len(standing.starts) if standing is not None else 0,
        budgets=len(standing.budgets) if standing is not None else 0,
    )


def _known_s(seen: Look, folder: Path) -> dict[WorkloadKey, tuple[float, float]]:
    """Return of each workload's history the time in which demand was known, and that since it first was."""
    keys = [workload.key for workload in seen.workloads]
    settings = without_cluster(seen.settings)
    with closing(surroundings_of(settings, folder)) as around:
        end_s = int(around.clock.now_s()) // BUCKET_S * BUCKET_S
        start_s = end_s - int(settings.loop.history)
        before_s = start_s - BUCKET_S * USUAL_BUCKETS  # what demand is judged by began before
        buckets = read_history(around.metrics, keys, before_s, end_s, show.console(to_stderr=True))
    found = {}
    for key in keys:
        is_known = (tidy(buckets[key], start_s)["state"] != State.UNKNOWN).to_numpy()
        first = int(is_known.argmax()) if is_known.any() else len(is_known)
        found[key] = (float(BUCKET_S * is_known.sum()), float(BUCKET_S * (len(is_known) - first)))
    return found


def _as_json(each: Graduation) -> dict[str, Any]:
    return {
        "workload": str(each.workload.key),
        "mode": each.now.label,
        "next": each.to.label if each.to is not None else None,
        "is_ready": each.is_ready,
        "evidence": [{"name": c.name, "is_met": c.is_met, "seen": c.seen} for c in each.checks],
    }
