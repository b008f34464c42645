"""FractionPlans: change sets as custom resources, with how far each step is in `status`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from actuator.manifest import (
    GROUP,
    MANAGED_BY,
    TARGET_LABEL,
    Json,
    dns_label,
    key_of,
    seconds_of,
    timestamp_of,
    version_of,
)
from actuator.objects.trials import trial_of, trial_status
from actuator.ports import PlanRecord, Readiness, StepRecord
from fleet.change import ChangeSet, Step, StepState, Verb
from fleet.errors import RefusedError
from fleet.past import Fall
from fleet.shape import Configuration, Shape
from fleet.trial import Trial
from fleet.workload import WorkloadKey

API_VERSION = f"{GROUP}/v1alpha1"
KIND = "FractionPlan"

MAX_BYTES = 64 * 1024
"""Largest plan that is written; etcd takes 1.5 MiB, a watch of many plans should stay small."""

KEPT_PER_TARGET = 20

OPEN = frozenset({StepState.PENDING, StepState.CLAIMED})
"""States of a step that is neither done nor given up."""


def target_labels(target: WorkloadKey) -> Json:
    """Return the labels by which the plans of a workload are listed in its namespace."""
    return {**MANAGED_BY, TARGET_LABEL: dns_label(target.name)}


def plan_of(change: ChangeSet, kind: str = "Deployment", api_version: str = "apps/v1") -> Json:
    """Return the FractionPlan of a change set, without status; `RefusedError` if it is too large.

    Args:
        change: The change set.
        kind: What the workload's own object is,
        api_version: and of which API.
    """
    body: Json = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": change.name,
            "namespace": change.target.namespace,
            "labels": target_labels(change.target),
        },
        "spec": {
            "target": {"apiVersion": api_version, "kind": kind, "name": change.target.name},
            "decidedAt": timestamp_of(change.decided_at_s),
            "start": counts_of(change.start),
            "goal": counts_of(change.goal),
            "steps": [_step(step) for step in change.steps],
        },
    }
    size = len(json.dumps(body).encode())
    if size > MAX_BYTES:
        raise RefusedError(f"{KIND} {change.name}: {size} bytes, at most {MAX_BYTES} are written")
    return body


def status_of(steps: Iterable[StepRecord]) -> Json:
    """Return the `status` that says how far each step is."""
    return {"steps": [_status(step) for step in steps]}


def target_of(plan: Json) -> WorkloadKey:
    """Return the workload that a FractionPlan is of."""
    return WorkloadKey(key_of(plan).namespace, plan["spec"]["target"]["name"])


def record_of(plan: Json) -> PlanRecord:
    """Return a FractionPlan as read back; steps without a status are pending since the decision."""
    spec = plan["spec"]
    decided_at_s = seconds_of(spec["decidedAt"])
    change = ChangeSet(
        target=target_of(plan),
        start=_configuration(spec["start"]),
        goal=_configuration(spec["goal"]),
        steps=tuple(_read_step(step) for step in spec["steps"]),
        decided_at_s=decided_at_s,
    )
    status: list[Json] = (plan.get("status") or {}).get("steps") or []
    steps = tuple(_read_status(step) for step in status)
    pending = StepRecord(StepState.PENDING, decided_at_s)
    return PlanRecord(change, steps or (pending,) * len(change.steps), version_of(plan))


def is_open(record: PlanRecord) -> bool:
    """Return whether a plan has steps that are neither done nor given up."""
    return any(step.state in OPEN for step in record.steps)


def fall_of(record: PlanRecord) -> Fall | None:
    """Return what a plan made of a workload, `None` if it took nothing away."""
    done = [
        (step, kept.at_s)
        for step, kept in zip(record.change.steps, record.steps, strict=True)
        if was_made(step, kept) and step.verb is not Verb.CREATE_VARIANT
    ]
    taken = [at_s for step, at_s in done if step.is_irreversible]
    if not taken:
        return None
    start = record.change.start
    switched = any(step.verb is Verb.SWITCH for step, _ in done)
    # Of a Deployment that is switched no replica keeps the shape that it had.
    kept = {} if switched else start.counts
    left = {step.shape: step.replicas for step, _ in done if not switched or step.is_irreversible}
    return Fall(max(taken), start, Configuration({**kept, **left}))


def was_made(step: Step, kept: StepRecord) -> bool:
    """Return whether a step changed a workload: one that is done, or a switch that was taken back."""
    is_taken_back = kept.state is StepState.FAILED and kept.trial is not None and kept.trial.is_abandoned
    return kept.state is StepState.DONE or (step.verb is Verb.SWITCH and is_taken_back)


def newest_first(records: Iterable[PlanRecord]) -> tuple[PlanRecord, ...]:
    """Return plans by when anything last happened to them, newest first."""
    return tuple(sorted(records, key=lambda record: (touched_at_s(record), record.change.name), reverse=True))


def touched_at_s(record: PlanRecord) -> float:
    """Return when a plan was decided or, later, last got further; seconds since the epoch."""
    return max([record.change.decided_at_s, *(step.at_s for step in record.steps)])


def first(records: Iterable[PlanRecord]) -> PlanRecord:
    """Return the plan of a target that was decided first: it starts from what stood before foreslice came."""
    return min(records, key=lambda record: (record.change.decided_at_s, record.change.name))


def to_delete(records: Sequence[PlanRecord], keep: int = KEPT_PER_TARGET) -> tuple[str, ...]:
    """Return the names of the plans of one target that go.

    The newest `keep` stay, the newest `keep` that took something away, the first, and of each shape the
    newest that says how its trial goes and the newest that says that it is proven.
    """
    ordered = newest_first(records)
    oldest_first = ordered[::-1]
    trials = {shape: record for record in oldest_first for shape in trials_of(record)}
    proofs = {shape: record for record in oldest_first for shape in proven_by(record)}
    falls = [record for record in ordered if fall_of(record) is not None][:keep]
    kept = {record.change.name for record in (*falls, *trials.values(), *proofs.values())}
    return tuple(
        record.change.name
        for record in ordered[keep:]
        if record is not first(ordered) and record.change.name not in kept
    )


def trials_of(record: PlanRecord) -> dict[Shape, Trial]:
    """Return what a plan tells of the trials of shapes."""
    steps = zip(record.change.steps, record.steps, strict=True)
    return {step.shape: kept.trial for step, kept in steps if kept.trial is not None}


def proven_by(record: PlanRecord) -> frozenset[Shape]:
    """Return the shapes that a plan says are proven."""
    return frozenset(s for s, trial in trials_of(record).items() if trial.proven_at_s is not None)


def _step(step: Step) -> Json:
    return {
        "verb": step.verb,
        "variant": step.variant,
        "shape": _shape(step.shape),
        "replicas": step.replicas,
        **({} if step.expects is None else {"expects": step.expects}),
        **({"template": step.template} if step.template else {}),
        "reason": step.reason,
    }


def _read_step(body: Json) -> Step:
    return Step(
        verb=Verb(body["verb"]),
        variant=body["variant"],
        shape=_read_shape(body["shape"]),
        replicas=body["replicas"],
        expects=body.get("expects"),
        reason=body["reason"],
        template=body.get("template", ""),
    )


def _status(step: StepRecord) -> Json:
    body = {"state": step.state, "at": timestamp_of(step.at_s), "note": step.note}
    body |= trial_status(step.trial)
    if step.readiness is None:
        return body
    seen = step.readiness
    times = {
        "scheduledAt": seen.scheduled_at_s,
        "preparedAt": seen.prepared_at_s,
        "readyAt": seen.ready_at_s,
        "firstTokenAt": seen.first_token_at_s,
    }
    return body | {name: timestamp_of(at_s) for name, at_s in times.items() if at_s is not None}


def _read_status(body: Json) -> StepRecord:
    readiness = None
    if "readyAt" in body:
        prepared, token = (
            seconds_of(body[name]) if name in body else None for name in ("preparedAt", "firstTokenAt")
        )
        readiness = Readiness(seconds_of(body["scheduledAt"]), seconds_of(body["readyAt"]), prepared, token)
    return StepRecord(
        StepState(body["state"]), seconds_of(body["at"]), body.get("note", ""), readiness, trial_of(body)
    )


def counts_of(configuration: Configuration) -> list[Json]:
    """Return a configuration as custom resources hold it."""
    return [{**_shape(shape), "count": n} for shape, n in configuration.counts.items()]


def _configuration(counts: Iterable[Json]) -> Configuration:
    return Configuration({_read_shape(held): held["count"] for held in counts})


def _shape(shape: Shape) -> Json:
    spread = {"cards": shape.cards} if shape.cards > 1 else {}
    return {"board": shape.board, "profile": shape.profile, **spread}


def _read_shape(body: Json) -> Shape:
    return Shape(body["board"], body["profile"], body.get("cards", 1))
