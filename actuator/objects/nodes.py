"""What a node's labels and resources, or DRA's slices, say that its cards offer, without configuration."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from actuator.manifest import Json, labels_of
from actuator.mechanisms.device_plugin import GPU, PRODUCT_LABEL, REPLICAS_LABEL, SHARED_GPU, profile_of
from actuator.quantity import amount
from fleet.boards import BOARDS, Board
from fleet.devices import Device

_SINGLE = re.compile(r"-MIG-(\d+g\..+)$")


@dataclass(frozen=True, slots=True)
class Offered:
    """What NVIDIA's device plugin offers on a node, or its DRA driver.

    Attributes:
        labelled: Product as labelled.
        product: The same without what feature discovery appends.
        whole: Uncut cards that can be used.
        unhealthy: Devices that the plugin counts but does not offer.
        instances: MIG instances by profile.
        replicas: How often each card is offered; 1 where it is not time-sliced.
        single: Profile of the instances that are offered as if they were cards, `None` = none are.
        resource: What whole cards, or time slices of them, are called.
        is_dynamic: The DRA driver cuts the cards as claims come: instances are what could be.
    """

    labelled: str
    product: str
    whole: int
    unhealthy: int
    instances: Mapping[str, int]
    replicas: int
    single: str | None
    resource: str = GPU
    is_dynamic: bool = False


def offered_by(node: Json, published: Sequence[Device] = ()) -> Offered:
    """Return what a node offers, by its labels and what of its resources can be allocated.

    Where NVIDIA's DRA driver publishes its cards, that counts in place of resources: kubelets keep those of a
    device plugin that is gone.

    Args:
        node: The Node.
        published: What the DRA driver publishes of it.
    """
    plugged = _plugged(node)
    if not published:
        return plugged
    counts = Counter(device.profile for device in published)
    return Offered(
        labelled=plugged.labelled,
        product=plugged.product or published[0].product,
        whole=counts.pop(None, 0),
        unhealthy=0,
        instances={profile: counts[profile] for profile in sorted(filter(None, counts))},
        replicas=1,
        single=None,
        is_dynamic=any(device.profile is not None and device.draws for device in published),
    )


def _plugged(node: Json) -> Offered:
    """Return what a device plugin offers on a node."""
    status: Json = node.get("status") or {}
    labels = labels_of(node)
    labelled = str(labels.get(PRODUCT_LABEL, ""))
    product = re.sub(r"(-SHARED|-MIG-.*)+$", "", labelled)
    allocatable, capacity = status.get("allocatable") or {}, status.get("capacity") or {}
    named = ((profile_of(name), count) for name, count in allocatable.items())
    instances = {profile: amount(count) for profile, count in named if profile is not None}
    replicas = max(1, int(labels.get(REPLICAS_LABEL, 1)))
    # Kubelets keep old names at 0; where all cards are ill, only the capacity tells which name is in use.
    counts = {
        name: tuple(amount(part.get(name, 0)) for part in (allocatable, capacity))
        for name in (GPU, SHARED_GPU)
    }
    name = max(counts, key=counts.__getitem__)
    usable, counted = counts[name]
    if match := _SINGLE.search(labelled):
        instances = {match[1]: usable, **instances}
        return Offered(labelled, product, 0, counted - usable, instances, replicas, match[1])
    whole, unhealthy = usable // replicas, (counted - usable) // replicas
    return Offered(labelled, product, whole, unhealthy, dict(sorted(instances.items())), replicas, None, name)


def board_of(product: str) -> Board | None:
    """Return the board of a product label or name, whatever its case and separators; `None` if unknown."""
    wanted = _plain(product)
    return next(
        (board for board in BOARDS.values() if wanted in map(_plain, board.product_names)),
        None,
    )


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())
