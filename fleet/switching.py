"""Whether a workload's own Deployment may be taken to another shape: what planning and the gate both ask.

A switch is one write, after which the controller of a Deployment makes a new pod before it ends an old one,
for all of them in turn. It needs a Deployment at rest whose owner lets its pods move and lets one of the new
kind be tried first; that capacity holds on the way is reckoned by whoever asks.
"""

from __future__ import annotations

from math import ceil

from fleet.cluster import Standing, Variant
from fleet.shape import Shape


def obstacle(standing: Standing, shape: Shape, trial_s: float) -> str:
    """Return why a workload's own Deployment may not be switched to a shape now, one line; empty = it may.

    Args:
        standing: The workload.
        shape: The shape.
        trial_s: How long a new shape serves one replica before more is built on it, in seconds.
    """
    own = standing.own
    return (
        own.rollout.obstacle
        or _unrest(own)
        or _forbidding(standing)
        or ("" if standing.is_proven(shape) else _untried(own, shape, trial_s))
    )


def _unrest(own: Variant) -> str:
    if own.rollout.stuck:
        return f"{own.name}: {own.rollout.stuck}"
    if own.rollout.is_running:
        return f"a rollout of {own.name} is on its way, or replicas of it do not serve yet"
    return ""


def _forbidding(standing: Standing) -> str:
    """Return what of its owner's keeps pods from being moved; no controller asks for any of it."""
    for replica in standing.own.replicas:
        if replica.spared_by:
            return f"pod {replica.pod} is not to be disrupted ({replica.spared_by})"
    for budget in standing.budgets:
        if not budget.allowed:
            return f"PodDisruptionBudget {budget.name} lets no ready replica go"
    return ""


def _untried(own: Variant, shape: Shape, trial_s: float) -> str:
    if own.rollout.min_ready_s >= trial_s:
        return ""
    return (
        f"{shape.name} has not proven itself: with minReadySeconds of Deployment {own.name} at "
        f"{ceil(trial_s)} or more its controller tries one replica first"
    )
