"""Mechanism `device-plugin`: a shape as a resource and a count of NVIDIA's device plugin, and back.

A whole card is `nvidia.com/gpu`, an instance `nvidia.com/mig-<profile>` under the plugin's strategy `mixed`,
and `nvidia.com/gpu` again under `single`, where a node's label of its product alone says which
(NVIDIA/k8s-device-plugin README; docs/gpu-feature-discovery). A time slice is `nvidia.com/gpu` on a node that
offers each card several times, or `nvidia.com/gpu.shared` where its config renames it; nothing keeps its
tenants apart, so that an engine has to say how little memory it takes.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from actuator.manifest import Json
from actuator.mechanisms.engine_memory import fitted, is_kept, refuse_unkept
from fleet.boards import Board
from fleet.errors import RefusedError
from fleet.shape import Shape, time_slice

GPU = "nvidia.com/gpu"
SHARED_GPU = f"{GPU}.shared"
PRODUCT_LABEL = f"{GPU}.product"
REPLICAS_LABEL = f"{GPU}.replicas"
LABELS = frozenset({PRODUCT_LABEL, REPLICAS_LABEL})
"""Node labels by which pods say which cards they mean; copies on other cards say others."""

_MIG = re.compile(r"nvidia\.com/mig-(\d+g\.\d+gb)(?:\.(.+))?")
_PARTS = ("requests", "limits")


@dataclass(frozen=True, slots=True)
class Host:
    """What nodes of one kind offer.

    Attributes:
        board: What their cards are.
        product: Value of their label of the product.
        single: Profile of which their `nvidia.com/gpu` are instances, `None` = those are whole cards.
        replicas: How often each card is offered; 1 where it is not time-sliced.
        sliced_as: Resource that a time slice is, of nodes that have some.
    """

    board: Board
    product: str
    single: str | None = None
    replicas: int = 1
    sliced_as: str = GPU

    def shape(self, resource: str, count: int) -> Shape | None:
        """Return what so many of a resource are here, `None` = nothing; `InputError` for several slices.

        Where instances are offered as cards, none is offered by its profile. Two time slices are no larger
        one: they may lie on two cards, and give no more time on one.
        """
        if self.replicas > 1:
            return time_slice(self.board, self.replicas) if resource == self.sliced_as else None
        if self.single is not None and resource != GPU:
            return None
        profile = self.single if resource == GPU else profile_of(resource)
        if profile is None:
            return Shape(self.board.id, cards=count) if resource == GPU else None
        known = any(each.name == profile for each in self.board.profiles)
        return Shape(self.board.id, profile, count) if known else None


def resource_of(profile: str | None) -> str:
    """Return the resource as which an instance is offered under strategy `mixed`, `None` = a whole card."""
    return GPU if profile is None else f"nvidia.com/mig-{profile.replace('+', '.')}"


def profile_of(resource: str) -> str | None:
    """Return the MIG profile that a resource names, `None` if it names none."""
    named = _MIG.fullmatch(resource)
    return None if named is None else "+".join(part for part in named.groups() if part)


def asks_plugin(pod_spec: Json) -> bool:
    """Return whether a pod spec asks for anything that NVIDIA's device plugin offers."""
    return any(True for _ in _asked(pod_spec))


def shape_asked(pod_spec: Json, hosts: Iterable[Host]) -> Shape:
    """Return the shape that a pod spec asks for among what nodes offer; `RefusedError` if not exactly one."""
    container, resource, amount = _only(pod_spec)
    count = int(amount) if amount.isdecimal() else 0
    if count < 1 or (count > 1 and resource != GPU):
        raise RefusedError(f"{resource}: {amount} is neither whole cards nor one instance")
    selector = pod_spec.get("nodeSelector") or {}
    wanted = selector.get(PRODUCT_LABEL)
    near = [
        host
        for host in hosts
        if wanted in (None, host.product)
        and selector.get(REPLICAS_LABEL, str(host.replicas)) == str(host.replicas)
    ]
    if count > 1 and any(host.single or host.replicas > 1 for host in near):
        raise RefusedError(
            f"{resource}: {amount} are instances or time slices on some nodes, which no engine spans"
        )
    shapes = {shape for host in near if (shape := host.shape(resource, count)) is not None}
    if len(shapes) > 1:
        names = " and ".join(map(str, sorted(shapes)))
        raise RefusedError(f"{resource} is {names} alike: give a nodeSelector on {PRODUCT_LABEL}")
    if not shapes:
        raise RefusedError(f"no node of the fleet has cards that offer {resource}")
    shape = shapes.pop()
    refuse_unkept(pod_spec["containers"][container], shape)
    return shape


def are_kept(pod_spec: Json, shape: Shape) -> bool:
    """Return whether a pod's engines leave the memory of others alone; only a time slice has others."""
    places = {place for place, _, _ in _asked(pod_spec) if place >= 0}
    return all(is_kept(pod_spec["containers"][place], shape) for place in places)


def with_shape(pod_spec: Json, shape: Shape, hosts: Sequence[Host]) -> Json:
    """Return a pod spec that asks for another shape.

    `RefusedError` where no node can offer it, or its engine does not go with it.
    """
    container, resource, _ = _only(pod_spec)
    wanted, host = _offering(shape, hosts)
    changed = copy.deepcopy(pod_spec)
    changed["containers"][container] = fitted(changed["containers"][container], shape)
    held = changed["containers"][container]["resources"]
    for part in _PARTS:
        if resource in (held.get(part) or {}):
            del held[part][resource]
            held[part][wanted] = str(shape.cards)
    selector = {k: v for k, v in (changed.get("nodeSelector") or {}).items() if k not in LABELS}
    meant = Shape(shape.board, shape.profile)
    others = [other for other in hosts if other.shape(wanted, 1) not in (None, meant)]
    if others:
        selector[PRODUCT_LABEL] = host.product
    if any(other.product == host.product for other in others):
        selector[REPLICAS_LABEL] = str(host.replicas)
    changed.pop("nodeSelector", None)
    return {**changed, "nodeSelector": selector} if selector else changed


def _offering(shape: Shape, hosts: Sequence[Host]) -> tuple[str, Host]:
    """Return the resource that a shape is, and a kind of node that offers it as such."""
    meant = Shape(shape.board, shape.profile)
    for host in hosts:
        for resource in (host.sliced_as, resource_of(None if shape.is_whole else shape.profile)):
            if host.shape(resource, 1) == meant:
                return resource, host
    raise RefusedError(f"no node of the fleet offers {shape} by its device plugin")


def _only(pod_spec: Json) -> tuple[int, str, str]:
    """Return the only container that asks, by its place, for what, and how many."""
    found = list(_asked(pod_spec))
    if len(found) != 1 or found[0][0] < 0:
        raise RefusedError(f"exactly one container must ask for one kind of device, found {len(found)}")
    return found[0]


def _asked(pod_spec: Json) -> Iterator[tuple[int, str, str]]:
    """Yield each container by its place (-1: it runs before the others), what it asks and how many."""
    numbered = [*((-1, one) for one in pod_spec.get("initContainers") or ())]
    numbered += enumerate(pod_spec.get("containers") or ())
    for place, container in numbered:
        asked = container.get("resources") or {}
        for name, amount in {**(asked.get("requests") or {}), **(asked.get("limits") or {})}.items():
            plain = name.removesuffix(".shared")
            if plain == GPU or profile_of(plain) is not None:
                yield place, name, str(amount)
