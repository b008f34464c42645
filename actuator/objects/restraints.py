"""What others ask of us in the objects that they own: budgets, marks, annotations. It only ever restricts.

Labels and annotations are untrusted input, so none of them lets us do more than settings say, and one
that cannot be read restricts as far as it could have meant. An approval is no exception: mode `advise`, which
is for the settings to give, says that what is approved is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from math import inf

from actuator.manifest import GROUP, Json, key_of, selects
from fleet.restraints import Approval, DisruptionBudget
from fleet.workload import Mode

MODE = f"{GROUP}/mode"
"""Annotation of a Deployment: the most that may be done with it, one of the modes."""

PAUSED = f"{GROUP}/paused"
"""Annotation of a Deployment: anything but "false" and nothing of it is changed."""

HELD_UNTIL = f"{GROUP}/hold-until"
"""Annotation of a Deployment: until this time nothing of it is moved or removed."""

APPROVED = f"{GROUP}/approved"
"""Annotation of a Deployment in mode advise: the goal that is agreed to, or `GOAL until TIME`."""

CHANGES_PER_DAY = f"{GROUP}/changes-per-day"
"""Annotation of a Deployment: how many changes that give replicas up may be made in a day."""

RESERVATIONS = "kai-resource-reservation"
"""Namespace of the pods by which KAI holds cards for those that share them."""

SPARED = {
    "karpenter.sh/do-not-disrupt": "true",
    "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
}
"""Annotations of pods that must not be disrupted: https://karpenter.sh/docs/concepts/disruption, and the
cluster autoscaler's FAQ ("What types of pods can prevent CA from removing a node?")."""


def permitted(deployment: Json) -> Mode:
    """Return how far the annotations of a Deployment let us go; what is no mode lets nothing be done."""
    annotations = _annotations(deployment)
    if is_paused(deployment):
        return Mode.FORECAST_ONLY
    if MODE not in annotations:
        return Mode.FULL
    named = {mode.label: mode for mode in Mode}
    return named.get(annotations[MODE], Mode.FORECAST_ONLY)


def is_paused(deployment: Json) -> bool:
    """Return whether nothing of a Deployment may be changed."""
    said: str = _annotations(deployment).get(PAUSED, "false")
    return said != "false"


def held_until_s(deployment: Json) -> float:
    """Return until when nothing of a Deployment may go, s since the epoch; what is no time never ends."""
    text = _annotations(deployment).get(HELD_UNTIL)
    if text is None:
        return -inf
    until_s = _moment_s(text)
    return inf if until_s is None else until_s


def approval(deployment: Json) -> Approval | None:
    """Return what the owner of a Deployment agrees to; until what is no time is no agreement."""
    goal, word, until = _annotations(deployment).get(APPROVED, "").partition(" until ")
    until_s = _moment_s(until) if word else inf
    return Approval(goal.strip(), until_s) if goal.strip() and until_s is not None else None


def changes_per_day(deployment: Json) -> int | None:
    """Return how many changes a day a Deployment's annotations let be made, `None` where they do not say.

    What is no number lets none be made.
    """
    said = _annotations(deployment).get(CHANGES_PER_DAY)
    if said is None:
        return None
    return int(said) if said.isascii() and said.isdecimal() else 0


def spared_by(pod: Json) -> str:
    """Return why a pod must not be disrupted, empty if it may: an annotation of its own, `name: value`.

    A reservation of KAI's stands for the card that its sharers are on, and is never theirs or ours to end.
    """
    if key_of(pod).namespace == RESERVATIONS:
        return f"a reservation of {RESERVATIONS}"
    annotations = _annotations(pod)
    return next((f"{name}: {value}" for name, value in SPARED.items() if annotations.get(name) == value), "")


def budgets_of(budgets: Iterable[Json], labels: Sequence[Json]) -> tuple[DisruptionBudget, ...]:
    """Return the PodDisruptionBudgets of a namespace that select pods with any of these labels, by name."""
    return tuple(sorted(_selecting(budgets, labels), key=lambda budget: budget.name))


def _selecting(budgets: Iterable[Json], labels: Sequence[Json]) -> Iterator[DisruptionBudget]:
    for body in budgets:
        selector = body["spec"].get("selector")
        # In policy/v1 an empty selector selects every pod of the namespace, none selects none.
        if selector is None:
            continue
        is_of_all = not selector.get("matchLabels") and not selector.get("matchExpressions")
        if is_of_all or any(selects(selector, held) for held in labels):
            yield DisruptionBudget(body["metadata"]["name"], _allowed(body))


def _allowed(budget: Json) -> int:
    """Return how many pods may go; none while the status is not of what the budget says now."""
    status: Json = budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        return 0
    allowed: int = status.get("disruptionsAllowed", 0)
    return allowed


def _moment_s(text: str) -> float | None:
    """Return seconds since the epoch of an RFC 3339 time, `None` where it is none, or has no offset."""
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.timestamp() if moment.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


def _annotations(body: Json) -> Json:
    annotations: Json = body["metadata"].get("annotations") or {}
    return annotations
