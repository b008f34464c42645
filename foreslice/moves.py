"""What the newest plan moves, beside what is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from allocator.decide import Decision
from fleet.cluster import Fleet
from fleet.workload import WorkloadKey


def with_plans(
    due: Sequence[Decision], planned: Mapping[WorkloadKey, Decision], fleet: Fleet, at_s: float
) -> tuple[Decision, ...]:
    """Return what is due, then what the newest plan moves where nothing is due and its start still stands.

    Due additions come first: when both want the same room, they win. While a need is not trusted, or a
    workload is held, no move is begun either: its first half would stand there and wait for the second.

    Args:
        due: What is to be added.
        planned: What is to be moved, empty while nothing may be.
        fleet: The cluster as it stands.
        at_s: Time, seconds since the epoch.
    """
    stay, move = [], []
    held = {standing.key for standing in fleet.standings if at_s < standing.held_until_s}
    for decision in due:
        goal = planned.get(decision.workload)
        if (
            goal is not None
            and decision.workload not in held
            and goal.is_change
            and not decision.is_change
            and goal.start.counts == decision.start.counts
            and not decision.need.distrust
        ):
            moved = replace(decision, goal=goal.goal, because=goal.because)
            move.append(replace(moved, without_forecast=goal.without_forecast))
        else:
            stay.append(decision)
    return (*stay, *move)
