"""Slices of the standby pool as objects: a ResourceClaim that pods share, and the pods.

Whose turn it is stands on the claim, so that a version fences it. A standby pod has the labels of its
workload's pods, so that Services select it, and a readiness gate of ours (KEP-580): it is Ready once its
containers are *and* we say so. One that serves goes on serving without us.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from math import isfinite

from actuator.manifest import (
    GROUP,
    MANAGED_BY,
    STANDBY_LABEL,
    Json,
    dns_label,
    key_of,
    labels_of,
    seconds_of,
    timestamp_of,
    version_of,
)
from actuator.mechanisms.dra import Ask, claim_template, request_of
from actuator.mechanisms.engine_memory import told
from actuator.objects.pods import is_over, true_condition
from actuator.objects.variants import gpu_claim
from fleet.boards import Board
from fleet.ledgers.beds import Highest, Measured
from fleet.shape import Shape
from fleet.standby import Doing, Hold, PoolSlice, Sleeper
from fleet.workload import WorkloadKey

GATE = f"{GROUP}/awake"
"""Condition of a standby pod that its readiness waits for."""

HOLD, BARRED = f"{GROUP}/standby-hold", f"{GROUP}/standby-barred"

TAKEN = f"{GROUP}/standby-memory"
"""What sleeping engines were read to take: it outlives whoever read it."""

_REQUEST = "gpu"


def slice_claim(namespace: str, name: str, board: Board, shape: Shape) -> Json:
    """Return the ResourceClaim of a slice; `RefusedError` for a shape that is no device."""
    asked = claim_template(namespace, board, shape, Ask(_REQUEST, request_of(board, shape)))
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": namespace, "labels": {**MANAGED_BY, STANDBY_LABEL: name}},
        "spec": asked["spec"]["spec"],
    }


def standby_pod(base: Json, templates: Mapping[str, Json], slice_name: str, share: float | None) -> Json:
    """Return the pod of a workload that sleeps on a slice; its name says which.

    Args:
        base: The workload's Deployment, which owns the pod: it goes with it.
        templates: ResourceClaimTemplates of its namespace by name.
        slice_name: The slice.
        share: Share of the device's memory that its engine may take; `None` = it is not told.

    Raises:
        RefusedError: Its pods do not ask for one GPU through a claim template.
    """
    claim, _ = gpu_claim(base, templates)
    pods = copy.deepcopy(base["spec"]["template"])
    spec: Json = pods["spec"]
    spec["resourceClaims"] = [
        {"name": claim, "resourceClaimName": slice_name} if held["name"] == claim else held
        for held in spec["resourceClaims"]
    ]
    spec["readinessGates"] = [*(spec.get("readinessGates") or ()), {"conditionType": GATE}]
    for container in spec["containers"]:
        claims = container.get("resources", {}).get("claims", ())
        if share is not None and any(used["name"] == claim for used in claims):
            container["env"] = told(container, share)["env"]
    owner = {"apiVersion": base["apiVersion"], "kind": base["kind"], "controller": True}
    meta = base["metadata"]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": dns_label(f"{meta['name']}-{slice_name}"),
            "namespace": meta["namespace"],
            "labels": {**labels_of(pods), STANDBY_LABEL: slice_name},
            "annotations": dict(pods["metadata"].get("annotations") or {}),
            "ownerReferences": [{**owner, "name": meta["name"], "uid": meta["uid"]}],
        },
        "spec": spec,
    }


def slices_of(claims: Iterable[Json], pods: Iterable[Json]) -> tuple[PoolSlice, ...]:
    """Return the slices that objects of one namespace show, by name; foreign objects are left out."""
    on_it: dict[str, list[Json]] = {}
    for pod in pods:
        if STANDBY_LABEL in labels_of(pod) and not is_over(pod):
            on_it.setdefault(labels_of(pod)[STANDBY_LABEL], []).append(pod)
    found = []
    for claim in claims:
        key = key_of(claim)
        if not {**MANAGED_BY, STANDBY_LABEL: key.name}.items() <= labels_of(claim).items():
            continue
        sleepers = [sleeper for pod in on_it.get(key.name, ()) if (sleeper := _sleeper(pod)) is not None]
        hold, trouble = _hold(claim)
        found.append(
            PoolSlice(
                namespace=key.namespace,
                name=key.name,
                version=version_of(claim),
                hold=hold,
                sleepers=tuple(sorted(sleepers, key=lambda one: one.workload)),
                barred=_barred(claim),
                node=next((_node(pod) for pod in on_it.get(key.name, ()) if _node(pod)), ""),
                trouble=trouble,
                taken=_taken(claim),
            )
        )
    return tuple(sorted(found, key=lambda one: one.name))


def held(claim: Json, hold: Hold | None, barred: Mapping[WorkloadKey, float]) -> Json:
    """Return a slice's claim with whose turn it is and who is left alone."""
    said = {}
    if hold is not None:
        body = {"workload": hold.workload.name, "doing": hold.doing.value, "since": hold.since_s}
        said[HOLD] = json.dumps(body)
    if barred:
        said[BARRED] = json.dumps({key.name: until_s for key, until_s in sorted(barred.items())})
    return _annotated(claim, {HOLD, BARRED}, said)


def noted(claim: Json, taken: Mapping[WorkloadKey, Measured]) -> Json:
    """Return a slice's claim with what sleeping engines were read to take."""
    rows = {
        key.name: [*_pair(one.host), *_pair(one.context), round(one.at_s)]
        for key, one in sorted(taken.items())
    }
    return _annotated(claim, {TAKEN}, {TAKEN: json.dumps(rows)})


def turned(pod: Json, *, is_open: bool, at_s: float) -> Json:
    """Return a standby pod with its gate open or closed."""
    status: Json = pod.get("status") or {}
    others = [one for one in status.get("conditions") or () if one["type"] != GATE]
    ours = {"type": GATE, "status": str(is_open), "lastTransitionTime": timestamp_of(at_s)[:19] + "Z"}
    return {**pod, "status": {**status, "conditions": [*others, ours]}}


def _sleeper(pod: Json) -> Sleeper | None:
    key, gate = (
        key_of(pod),
        next((one for one in (pod.get("status") or {}).get("conditions") or () if one["type"] == GATE), None),
    )
    owners = pod["metadata"].get("ownerReferences") or ()
    owner = next((one["name"] for one in owners if one["kind"] == "Deployment"), None)
    if owner is None:
        return None
    return Sleeper(
        workload=WorkloadKey(key.namespace, owner),
        pod=key.name,
        address=(pod.get("status") or {}).get("podIP", ""),
        is_up=true_condition(pod, "ContainersReady") is not None,
        is_open=gate is not None and gate["status"] == "True",
        is_leaving="deletionTimestamp" in pod["metadata"],
        turned_s=seconds_of(gate["lastTransitionTime"]) if gate is not None else 0.0,
        version=version_of(pod),
        port=_port(pod),
    )


def _hold(claim: Json) -> tuple[Hold | None, str]:
    """Return whose turn a slice is, and what is wrong with what it says of that."""
    text = (claim["metadata"].get("annotations") or {}).get(HOLD)
    if text is None:
        return None, ""
    try:
        body = json.loads(text)
        workload = WorkloadKey(key_of(claim).namespace, str(body["workload"]))
        return Hold(workload, Doing(body["doing"]), float(body["since"])), ""
    except (ValueError, KeyError, TypeError, OverflowError):
        where = f"ResourceClaim {key_of(claim)}: annotation {HOLD}"
        return None, f"{where} is not ours: delete it once all its engines sleep"


def _barred(claim: Json) -> dict[WorkloadKey, float]:
    text = (claim["metadata"].get("annotations") or {}).get(BARRED, "{}")
    try:
        found = json.loads(text)
        return {WorkloadKey(key_of(claim).namespace, name): float(until) for name, until in found.items()}
    except (ValueError, AttributeError, TypeError, OverflowError):
        return {}


def _taken(claim: Json) -> dict[WorkloadKey, Measured]:
    text = (claim["metadata"].get("annotations") or {}).get(TAKEN, "{}")
    try:
        return {
            WorkloadKey(key_of(claim).namespace, name): _measured(*map(float, row))
            for name, row in json.loads(text).items()
        }
    except (ValueError, AttributeError, TypeError, OverflowError):
        return {}


def _measured(hosts: float, host: float, contexts: float, context: float, at_s: float) -> Measured:
    if not all(map(isfinite, (host, context, at_s))):
        raise ValueError
    return Measured(Highest(int(hosts), host), Highest(int(contexts), context), at_s)


def _pair(highest: Highest) -> tuple[int, float]:
    return highest.readings, highest.gib


def _annotated(claim: Json, ours: set[str], said: Mapping[str, str]) -> Json:
    metadata = claim["metadata"]
    rest = {key: text for key, text in (metadata.get("annotations") or {}).items() if key not in ours}
    return {**claim, "metadata": {**metadata, "annotations": {**rest, **said}}}


def _port(pod: Json) -> int:
    """Return the first port that the container with a claim names, 0 where it names none."""
    served = (one for one in pod["spec"]["containers"] if (one.get("resources") or {}).get("claims"))
    ports = next((one.get("ports") or () for one in served), ())
    return next((int(port["containerPort"]) for port in ports), 0)


def _node(pod: Json) -> str:
    return str(pod["spec"].get("nodeName", ""))
