"""KAI's objects: what pods ask for, what they were given, queues, and groups whose ledger is off.

What a pod was given is read from what the binder wrote (BindRequest, ConfigMap), never from annotations,
which can be patched on a running pod and change the scheduler's ledger but not the container.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from actuator.inventory.findings import Finding, error, warning
from actuator.manifest import Json, key_of, labels_of
from actuator.objects.queued import CARD_MEMORY, DEVICES, FRACTION, MEMORY, fraction_of, memory_of
from actuator.objects.restraints import RESERVATIONS
from fleet.errors import InputError
from fleet.ledgers.kai import Share
from fleet.ledgers.queues import Queue

_GROUP = "runai-gpu-group"
_DEVICE = "run.ai/reserve_for_gpu_index"
_CONFIG_MAP = "runai/shared-gpu-configmap"
_NODE_LABELS = (CARD_MEMORY, "nvidia.com/gpu-memory")

_UNITS_MIB = {
    "": (1, 1),
    "mib": (1, 1),
    "mi": (1, 1),
    "gib": (1024, 1),
    "gi": (1024, 1),
    "mb": (10**6, 1 << 20),
    "m": (10**6, 1 << 20),
    "gb": (10**9, 1 << 20),
    "g": (10**9, 1 << 20),
}


def mib_of(text: str) -> int | None:
    """Return the MiB that a person means by an amount with a unit, rounded up; `None` if it is none."""
    match = re.fullmatch(r"(\d+)\s*([A-Za-z]*)", text.strip())
    factor = _UNITS_MIB.get(match[2].lower()) if match else None
    if match is None or factor is None:
        return None
    return -(-int(match[1]) * factor[0] // factor[1])


def share_asked(pod: Json) -> tuple[Share | None, list[Finding]]:
    """Return the share that a pod asks KAI for, `None` if there is none that KAI takes; and what is wrong."""
    annotations: Json = pod["metadata"].get("annotations") or {}
    on = f"Pod {key_of(pod)}"
    found = [
        warning(
            "unknown-annotation",
            on,
            f"annotation {name} is a node label and no request: the pod asks for no GPU",
            f"write {MEMORY}: a bare number of MiB",
        )
        for name in _NODE_LABELS
        if name in annotations
    ]
    fraction, memory = annotations.get(FRACTION), annotations.get(MEMORY)
    if fraction is None and memory is None:
        return None, found
    portion = fraction_of(fraction) if fraction is not None else 0.0
    mib = memory_of(memory) if memory is not None else 0
    if portion is None:
        fix = "write a decimal with a point, above 0 and below 1; a whole card is nvidia.com/gpu: 1"
        return None, [*found, error("bad-fraction", on, f"{FRACTION} {fraction!r} is refused", fix)]
    if mib is None:
        meant = mib_of(str(memory))
        fix = f"write {meant}" if meant else "write a bare number of MiB above 0"
        return None, [*found, error("bad-gpu-memory", on, f"{MEMORY} {memory!r} is refused", fix)]
    try:
        return Share(portion, mib, int(annotations.get(DEVICES, 1))), found
    except (InputError, ValueError) as wrong:
        fix = f"give {FRACTION} or {MEMORY}, and {DEVICES} as a whole number"
        return None, [*found, error("bad-share", on, f"its share is refused ({wrong})", fix)]


def queue_of(body: Json) -> Queue:
    """Return a Queue object as a queue, in GPUs; an unset limit is 0, which lets nothing through."""
    spec: Json = body["spec"]
    gpu: Json = (spec.get("resources") or {}).get("gpu") or {}
    status: Json = body.get("status") or {}
    return Queue(
        name=body["metadata"]["name"],
        parent=spec.get("parentQueue") or None,
        quota=float(gpu.get("quota", 0)),
        limit=float(gpu.get("limit", 0)),
        priority=int(spec.get("priority", 100)),
        weight=float(gpu.get("overQuotaWeight", 1)),
        allocated=_gpus(status.get("allocated")),
        allocated_fixed=_gpus(status.get("allocatedNonPreemptible")),
    )


def _gpus(resources: Json | None) -> float:
    # Status is only what there is to read in a dump: it leaves out the number of devices of a share.
    text = str((resources or {}).get("nvidia.com/gpu", "0"))
    match = re.fullmatch(r"([0-9.]+)([num]?)", text)
    if match is None:
        return 0.0
    return float(match[1]) / {"": 1, "m": 10**3, "u": 10**6, "n": 10**9}[match[2]]


@dataclass(frozen=True, slots=True)
class Group:
    """One card that KAI shares.

    Attributes:
        name: Its GPU group.
        node: Node.
        devices: Cards that its reservation pods name.
        reservations: Names of its reservation pods.
        tenants: Pods on it.
    """

    name: str
    node: str
    devices: tuple[str, ...]
    reservations: tuple[str, ...]
    tenants: tuple[str, ...]


def groups_of(pods: Iterable[Json]) -> tuple[Group, ...]:
    """Return the cards that KAI shares, by group, from reservation pods and the pods on them."""
    keeping: defaultdict[str, list[Json]] = defaultdict(list)
    using: defaultdict[str, list[Json]] = defaultdict(list)
    for pod in pods:
        into = keeping if key_of(pod).namespace == RESERVATIONS else using
        for group in _groups(pod):
            into[group].append(pod)
    return tuple(
        Group(
            name=group,
            node=next((str(p["spec"].get("nodeName", "")) for p in [*keeping[group], *using[group]]), ""),
            devices=tuple(sorted({d for p in keeping[group] if (d := _annotation(p, _DEVICE))})),
            reservations=tuple(sorted(p["metadata"]["name"] for p in keeping[group])),
            tenants=tuple(sorted(str(key_of(p)) for p in using[group])),
        )
        for group in sorted({*keeping, *using})
    )


def group_findings(groups: Iterable[Group], pods: Iterable[Json], binding: Iterable[str]) -> list[Finding]:
    """Return what is off between groups, reservation pods and cards; nothing of it is for us to delete.

    Args:
        groups: As of `groups_of`.
        pods: Every pod.
        binding: Groups that a BindRequest which has not failed names.
    """
    groups, pods, awaited = tuple(groups), tuple(pods), set(binding)
    by_device: defaultdict[str, list[str]] = defaultdict(list)
    found: list[Finding] = []
    for group in groups:
        on = f"GPU group {group.name}"
        for device in group.devices:
            by_device[device].append(group.name)
        if not group.tenants and group.reservations and group.name not in awaited:
            fix = "count its card as taken; KAI clears it away itself, never delete its reservation pod"
            found.append(warning("orphan-reservation", on, "is reserved and nobody is on it", fix))
        if len(group.reservations) > 1:
            fix = f"place nothing more on node {group.node} until it is cleared up"
            found.append(
                error("duplicate-reservation", on, f"has {len(group.reservations)} reservation pods", fix)
            )
        if group.tenants and not group.reservations:
            what = "has tenants and no reservation pod: KAI kills them at the next bind"
            found.append(
                error("lost-reservation", on, what, f"place nothing on node {group.node}, move its tenants")
            )
    found += [
        error(
            "shared-device",
            f"card {device}",
            f"is in the groups {', '.join(names)}",
            "place nothing more on its node",
        )
        for device, names in sorted(by_device.items())
        if len(names) > 1
    ]
    failed = [p for p in pods if key_of(p).namespace == RESERVATIONS and _phase(p) == "Failed"]
    fix = "place nothing more on its node until its group is gone"
    return found + [error("failed-reservation", f"Pod {key_of(p)}", "failed", fix) for p in failed]


def shared_config_map(pod: Json) -> str | None:
    """Return the name of the ConfigMap in which the binder says what a pod was given, `None` without."""
    name = _annotation(pod, _CONFIG_MAP)
    return f"{name}-0" if name else None


def given(pod: Json, config_maps: Mapping[tuple[str, str], Json]) -> tuple[float, tuple[str, ...]] | None:
    """Return the portion that a pod was given and its cards, from the binder's ConfigMap, `None` without."""
    name = shared_config_map(pod)
    body = config_maps.get((key_of(pod).namespace, name)) if name is not None else None
    data: Json = (body or {}).get("data") or {}
    if "GPU_PORTION" not in data:
        return None
    return float(data["GPU_PORTION"]), tuple(filter(None, data.get("NVIDIA_VISIBLE_DEVICES", "").split(",")))


def mismatch(pod: Json, portion: float) -> Finding | None:
    """Return the finding that a pod's annotation asks for another share than it was given, if it does."""
    asked = fraction_of(_annotation(pod, FRACTION) or "")
    if asked is None or abs(asked - portion) < 0.01:  # noqa: PLR2004 -- the grid of what is written
        return None
    return error(
        "ledger-mismatch",
        f"Pod {key_of(pod)}",
        f"was given {portion:g}, its annotation says {asked:g}: KAI counts that, the engine holds the other",
        f"write {FRACTION} back to {portion:g}; change shares in the owner's template only",
    )


def _groups(pod: Json) -> list[str]:
    return [value for key, value in labels_of(pod).items() if key == _GROUP or key.startswith(f"{_GROUP}/")]


def _annotation(pod: Json, name: str) -> str | None:
    value = (pod["metadata"].get("annotations") or {}).get(name)
    return None if value is None else str(value)


def _phase(pod: Json) -> str:
    return str((pod.get("status") or {}).get("phase", ""))
