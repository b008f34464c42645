"""LeaderWorkerSets: one replica is a group of pods, which its leader stands for.

Labels and fields: kubernetes-sigs/lws, api/leaderworkerset/v1/leaderworkerset_types.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from actuator.manifest import Json, labels_of
from fleet.cluster import Replica
from fleet.errors import RefusedError
from fleet.shape import WHOLE, Shape

KIND = "LeaderWorkerSet"

SET_NAME = "leaderworkerset.sigs.k8s.io/name"
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
"""Labels of its pods; the worker of index 0 leads."""

EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"
"""Annotation of a set each of whose groups has a domain of this node label to itself."""


def as_deployment(body: Json) -> Json:
    """Return a LeaderWorkerSet as what makes pods of one template: those that lead a group.

    `spec.groupSize` says how many pods a group has.
    """
    made = body["spec"]["leaderWorkerTemplate"]
    template = made.get("leaderTemplate") or made["workerTemplate"]
    meta = template.get("metadata") or {}
    leads = {SET_NAME: body["metadata"]["name"], WORKER_INDEX: "0"}
    spec = {
        **body["spec"],
        "selector": {"matchLabels": leads},
        "template": {**template, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), **leads}}},
        "groupSize": made.get("size", 1),
    }
    return {**body, "kind": KIND, "spec": spec}


def workers_of(body: Json) -> Json:
    """Return what `as_deployment` returned with the template of the pods that do not lead."""
    return {
        **body,
        "spec": {**body["spec"], "template": body["spec"]["leaderWorkerTemplate"]["workerTemplate"]},
    }


def size_of(body: Json) -> int:
    """Return how many pods one replica has."""
    size: int = body["spec"].get("groupSize", 1)
    return size


def may_stand_apart(body: Json) -> bool:
    """Return whether pods of one group may stand on several nodes, wherever each has room.

    A group that has a part of the cluster for itself is taken to need one node: which parts are empty of
    other groups is its controller's and the scheduler's to know.
    """
    return EXCLUSIVE not in (body["metadata"].get("annotations") or {})


def group_of(leader: Json) -> Json:
    """Return what selects the pods of the group that a pod leads, itself among them."""
    return {"matchLabels": {label: labels_of(leader).get(label, "") for label in (SET_NAME, GROUP_INDEX)}}


def grouped_shape(shape: Shape, size: int) -> Shape:
    """Return what a group runs on together; `RefusedError` for parts of cards."""
    if size == 1:
        return shape
    if shape.profile != WHOLE:
        raise RefusedError(f"groups of {size} pods run on whole cards, not on {shape.profile}")
    return Shape(shape.board, shape.profile, shape.cards * size)


def grouped(replicas: Sequence[Replica], size: int) -> Replica:
    """Return the replicas of a group, its leader first, as one: it is as far as the last of them."""
    leader = replicas[0]
    if size == 1:
        return leader
    is_whole = len(replicas) == size and all(each.device is not None for each in replicas)
    return replace(
        leader,
        shape=grouped_shape(leader.shape, size),
        device=leader.device if is_whole else None,
        is_ready=is_whole and all(each.is_ready for each in replicas),
        is_leaving=any(each.is_leaving for each in replicas),
        scheduled_at_s=_last(each.scheduled_at_s for each in replicas),
        ready_at_s=_last(each.ready_at_s for each in replicas),
        prepared_at_s=_last(each.prepared_at_s for each in replicas),
        spared_by=next((each.spared_by for each in replicas if each.spared_by), ""),
    )


def _last(times_s: Iterable[float | None]) -> float | None:
    """Return the last of the times, `None` while one is missing."""
    known = list(times_s)
    return None if None in known else max(at_s for at_s in known if at_s is not None)
