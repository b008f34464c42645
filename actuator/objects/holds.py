"""Room held by device taints: one DeviceTaintRule for each device, and the claims that tolerate it.

The name of a rule says which device it is about, so that the API server itself refuses a second owner. Only
`NoSchedule` is written: who runs goes on. A rule always names its device: one without a selector taints all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from actuator.manifest import (
    FIELD_MANAGER,
    GROUP,
    MANAGED_BY,
    Json,
    digest_of,
    labels_of,
    seconds_of,
    timestamp_of,
    tolerates,
)
from actuator.mechanisms.dra import DRIVER
from fleet.devices import DeviceId
from fleet.holds import Hold
from fleet.workload import WorkloadKey

API_VERSION, KIND = "resource.k8s.io/v1", "DeviceTaintRule"

HELD_FOR = f"{GROUP}/held-for"
"""Key of the taint, and annotation that says for whom."""

PURPOSE, EXPIRES = f"{GROUP}/purpose", f"{GROUP}/expires"
NO_SCHEDULE = "NoSchedule"

_VALUE_LENGTH = 63
_PREFIX = f"{FIELD_MANAGER}-"


def taint_value(owner: WorkloadKey) -> str:
    """Return the value of the taint on what is held for a workload: namespace.name, cut where it is too long.

    A namespace has no dot, so no two workloads share one.
    """
    text = f"{owner.namespace}.{owner.name}"
    if len(text) <= _VALUE_LENGTH:
        return text
    digest = digest_of(text)
    return f"{text[: _VALUE_LENGTH - len(digest) - 1]}-{digest}"


def toleration(owner: WorkloadKey) -> Json:
    """Return what a request of a workload's claims carries so that it is given what is held for it."""
    return {"key": HELD_FOR, "operator": "Equal", "value": taint_value(owner), "effect": NO_SCHEDULE}


def may_take_held(tolerations: Iterable[Json], owner: WorkloadKey) -> bool:
    """Return whether a request with these tolerations is given what is held for a workload."""
    return tolerates(tolerations, _taint(owner))


def rule_of(hold: Hold) -> Json:
    """Return the DeviceTaintRule of a hold."""
    pool, device = hold.device
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": _name(hold.device),
            "labels": dict(MANAGED_BY),
            "annotations": {
                HELD_FOR: str(hold.owner),
                PURPOSE: hold.purpose,
                EXPIRES: timestamp_of(hold.until_s),
            },
        },
        "spec": {
            "deviceSelector": {"driver": DRIVER, "pool": pool, "device": device},
            "taint": _taint(hold.owner),
        },
    }


def holds_of(rules: Iterable[Json]) -> tuple[Hold, ...]:
    """Return the holds among DeviceTaintRules, in order of device; those of others are passed over.

    One that does not say for whom or until when has expired, and so has one that is not about its device: a
    server dropped the field, or somebody wrote it.
    """
    return tuple(sorted(_ours(rules), key=lambda hold: hold.device))


def shut_by(rules: Iterable[Json], tolerations: Iterable[Json]) -> Iterator[tuple[str | None, str | None]]:
    """Yield pool and device, `None` = any, that a request with these tolerations is not given.

    As k8s.io/api resource/v1, DeviceTaintSelector: what it leaves out matches all, and no selector nothing.
    """
    tolerations = tuple(tolerations)
    for rule in rules:
        selector: Json | None = rule["spec"].get("deviceSelector")
        if selector is None or selector.get("driver", DRIVER) != DRIVER:
            continue
        if not tolerates(tolerations, rule["spec"]["taint"]):
            yield selector.get("pool"), selector.get("device")


def _ours(rules: Iterable[Json]) -> Iterator[Hold]:
    for rule in rules:
        meta = rule["metadata"]
        if not meta["name"].startswith(_PREFIX) or not labels_of(rule).items() >= MANAGED_BY.items():
            continue
        selector: Json = rule["spec"].get("deviceSelector") or {}
        device = (selector.get("pool", ""), selector.get("device", ""))
        said: Json = meta.get("annotations") or {}
        namespace, _, name = said.get(HELD_FOR, "").partition("/")
        is_whole = bool(namespace and name) and meta["name"] == _name(device)
        yield Hold(
            device=device,
            owner=WorkloadKey(namespace, name),
            purpose=said.get(PURPOSE, ""),
            until_s=_until_s(said.get(EXPIRES, "")) if is_whole else -inf,
            uid=meta.get("uid", ""),
            name=meta["name"],
        )


def _until_s(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError:
        return -inf


def _taint(owner: WorkloadKey) -> Json:
    return {"key": HELD_FOR, "value": taint_value(owner), "effect": NO_SCHEDULE}


def _name(device: DeviceId) -> str:
    """Return the name of the rule about a device, which no other device has."""
    return f"{_PREFIX}{digest_of(list(device))}"
