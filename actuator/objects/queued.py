"""What pods of others count with in KAI's queues, which bound what is left of a queue for ours."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress

from actuator.manifest import Json, key_of, labels_of
from actuator.mechanisms.device_plugin import GPU, profile_of
from actuator.objects.pods import is_over
from fleet.errors import InputError
from fleet.ledgers.kai import Ask, Cards, Instances, Share, bound_gpus, card_mib
from fleet.workload import WorkloadKey

QUEUE = "kai.scheduler/queue"
FRACTION, MEMORY, DEVICES = "gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"
CARD_MEMORY = "nvidia.com/gpu.memory"

# What both Go's ParseFloat and a Kubernetes quantity take (pkg/binder/plugins/gpusharing/gpu-request).
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def fraction_of(text: str) -> float | None:
    """Return the share that an annotation `gpu-fraction` gives, `None` if KAI refuses it."""
    value = float(text) if _DECIMAL.fullmatch(text) else 0.0
    return value if 0 < value < 1 else None


def memory_of(text: str) -> int | None:
    """Return the MiB that an annotation `gpu-memory` gives, `None` if KAI refuses it: a unit, a sign, 0."""
    return (int(text) or None) if re.fullmatch(r"[0-9]+", text) else None


def in_queues(pods: Iterable[Json]) -> list[Json]:
    """Return the pods that name a queue."""
    return [pod for pod in pods if labels_of(pod).get(QUEUE)]


def queued(pods: Iterable[Json], nodes: Iterable[Json], ours: Collection[WorkloadKey]) -> dict[str, float]:
    """Return the GPUs that bound pods of others count with, by the queue that they name.

    As KAI counts cards, instances and shares of the device plugin; what pods hold by claims is not told here.
    A share of memory counts as a card where the node does not say what its cards have.

    Args:
        pods: Pods of all namespaces.
        nodes: Nodes.
        ours: Pods of workloads that are looked after: they are counted by what they run on.
    """
    bound = [
        (queue, node, pod)
        for pod in pods
        if (queue := labels_of(pod).get(QUEUE))
        and (node := pod["spec"].get("nodeName"))
        and not is_over(pod)
        and key_of(pod) not in ours
    ]
    cards = {key_of(node).name: str(labels_of(node).get(CARD_MEMORY, "")) for node in nodes} if bound else {}
    held: defaultdict[str, float] = defaultdict(float)
    for queue, node, pod in bound:
        held[queue] += sum(_counts(ask, cards.get(node, "")) for ask in _asked(pod))
    return {queue: gpus for queue, gpus in held.items() if gpus}


def _counts(ask: Ask, label: str) -> float:
    card = card_mib(int(label)) if label.isdecimal() else 0
    if isinstance(ask, Share) and ask.memory_mib and not card:
        return float(ask.devices)
    return bound_gpus(ask, card)


def _asked(pod: Json) -> Iterator[Ask]:
    """Yield what a pod was bound with; what KAI would have refused counts nothing."""
    annotations: Json = pod["metadata"].get("annotations") or {}
    portion = fraction_of(str(annotations.get(FRACTION, ""))) or 0.0
    mib = memory_of(str(annotations.get(MEMORY, ""))) or 0
    with suppress(InputError):
        yield Share(portion, mib, _count(annotations.get(DEVICES, 1)))
    for container in pod["spec"].get("containers") or ():
        limits: Json = (container.get("resources") or {}).get("limits") or {}
        yield Cards(_count(limits.get(GPU, 0)))
        yield Instances({n: _count(k) for n, k in limits.items() if profile_of(n)})


def _count(number: object) -> int:
    return int(text) if (text := str(number)).isdecimal() else 0
