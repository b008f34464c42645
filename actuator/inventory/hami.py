"""HAMi's annotations: cards that a node registers, and what pods were allocated.

Project-HAMi/HAMi docs/develop/protocol.md and pkg/device/devices.go, v2.10.0: the register is JSON (an older
text form is ignored by HAMi too); an allocation is `uuid,type,MiB,cores` for each card, `:` after a card,
`;` after a container.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from actuator.inventory.findings import Finding, error
from actuator.manifest import Json, key_of
from fleet.ledgers.hami import VgpuCard

REGISTER = "hami.io/node-nvidia-register"
ALLOCATED = "hami.io/vgpu-devices-allocated"
_FIELDS = 4


@dataclass(frozen=True, slots=True)
class Grant:
    """What one container was given of one card.

    Attributes:
        uuid: Card.
        mib: Memory.
        cores: Per cent of its SM time.
    """

    uuid: str
    mib: int
    cores: int


def registered(node: Json) -> tuple[VgpuCard, ...] | None:
    """Return the cards that a node registers with HAMi, `None` if it registers none that can be read."""
    text = (node["metadata"].get("annotations") or {}).get(REGISTER)
    try:
        cards = json.loads(text) if text else None
        return None if cards is None else tuple(_card(card) for card in cards)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _card(card: Json) -> VgpuCard:
    return VgpuCard(
        uuid=card["id"],
        total_mib=int(card["devmem"]),
        splits=int(card["count"]),
        total_cores=int(card["devcore"]),
        is_healthy=bool(card["health"]),
    )


def grants_of(text: str) -> tuple[tuple[Grant, ...], ...] | None:
    """Return what each container was given, by position; `None` for damaged text, which is not nothing.

    Containers without a card are empty, in either spelling: nothing at all, or `,,0,0:`.
    """
    if not text:
        return ()
    containers = text.removesuffix(";").split(";")
    found = [_container(container) for container in containers]
    if any(grants is None for grants in found):
        return None
    return tuple(grants for grants in found if grants is not None)


def held_by(pod: Json) -> dict[str, tuple[int, int]]:
    """Return MiB and per cent of SM time that a pod holds of each card; damaged text holds nothing.

    Init containers come first in the annotation, and have ended when the others run: the larger counts.
    """
    text = (pod["metadata"].get("annotations") or {}).get(ALLOCATED, "")
    containers = grants_of(str(text)) or ()
    before = sum(map(_asks_gpu, (pod.get("spec") or {}).get("initContainers") or ()))
    held = {}
    for uuid in dict.fromkeys(grant.uuid for grants in containers for grant in grants):
        mib = [sum(grant.mib for grant in grants if grant.uuid == uuid) for grants in containers]
        cores = [sum(grant.cores for grant in grants if grant.uuid == uuid) for grants in containers]
        memory, compute = (max([sum(of[before:]), *of[:before]]) for of in (mib, cores))
        held[uuid] = memory, compute
    return held


def _asks_gpu(container: Json) -> bool:
    limits = (container.get("resources") or {}).get("limits") or {}
    return any(name.startswith("nvidia.com/gpu") for name in limits)


def _container(text: str) -> tuple[Grant, ...] | None:
    grants = []
    for card in filter(None, text.split(":")):
        fields = card.split(",")
        if len(fields) < _FIELDS or not (fields[2].isdecimal() and fields[3].isdecimal()):
            return None
        if fields[0]:
            grants.append(Grant(fields[0], int(fields[2]), int(fields[3])))
    return tuple(grants)


def allocation_finding(pod: Json) -> Finding | None:
    """Return the finding that a pod's allocation is damaged or missing although HAMi bound it, if it is."""
    annotations: Json = pod["metadata"].get("annotations") or {}
    on = f"Pod {key_of(pod)}"
    if ALLOCATED in annotations and grants_of(str(annotations[ALLOCATED])) is None:
        fix = "count its node's cards as unknown until the pod is gone; start it again"
        return error("damaged-allocation", on, f"{ALLOCATED} cannot be read: unknown, not 0", fix)
    if annotations.get("hami.io/bind-phase") and not annotations.get(ALLOCATED):
        fix = "ask for gpumem in MiB as a plain whole number, and for 1 card or more"
        return error("bound-without-card", on, "was bound by HAMi without a card and without an entry", fix)
    return None
