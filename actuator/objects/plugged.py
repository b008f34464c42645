"""Cards as NVIDIA's device plugin offers them, read from Nodes and pods in the words of devices.

The plugin publishes counts only: which card an instance lies on, and which one a pod has, neither it nor the
scheduler says. So instances are dealt out to as few cards as can hold them, and pods to instances of their
kind by name. One of a kind is as good as another; counts and shapes are what can be relied on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from actuator.manifest import GROUP, Json, key_of
from actuator.mechanisms.device_plugin import GPU, SHARED_GPU, Host, are_kept, profile_of
from actuator.objects.granted import resources_asked
from actuator.objects.nodes import Offered, board_of, offered_by
from actuator.objects.pods import is_over
from actuator.quantity import amount
from fleet.boards import Board
from fleet.cluster import Gpu
from fleet.devices import Device, Pool
from fleet.mig import Layout, realise
from fleet.shape import SHARE_UNITS, Shape, time_slice

LAYOUT_TAINT = f"{GROUP}/layout"
"""Key of the taint by which a node whose layout changes is kept free of new pods."""

_CLOSED = frozenset({LAYOUT_TAINT, "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
_CHANGING = frozenset({"pending", "rebooting"})


@dataclass(frozen=True)
class Plugged:
    """What device plugins offer.

    Attributes:
        hosts: Kinds of nodes.
        gpus: Cards of all nodes.
        pools: Devices by node; of a node that takes no new pods only those that pods have.
        held: Devices of a pod, by its uid.
    """

    hosts: tuple[Host, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    pools: tuple[Pool, ...] = ()
    held: Mapping[str, tuple[Device, ...]] = field(default_factory=dict, hash=False)

    @cached_property
    def boards(self) -> Mapping[str, Board]:
        """Board by UUID of the card."""
        return {gpu.uuid: gpu.board for gpu in self.gpus}


def plugged(nodes: Iterable[Json], pods: Iterable[Json], others: AbstractSet[str] = frozenset()) -> Plugged:
    """Return what the device plugins of nodes offer, and which pods hold what of it.

    Nodes of unknown products and those with instances in time slices are left out. A node of which a tenant
    may take more of a card's memory than its time slice takes no new pods: on which card it is, is not said.

    Args:
        nodes: The Nodes.
        pods: Pods as far as they are known; what others hold is taken for free.
        others: Nodes whose cards are offered in another way too, which are left out.
    """
    offers = [(name, body, offered_by(body)) for body in nodes if (name := key_of(body).name) not in others]
    known = [
        (name, body, offered, board)
        for name, body, offered in offers
        if (offered.replicas == 1 or _is_sliced_whole(offered))
        and (board := board_of(offered.product)) is not None
    ]
    if not known:
        return Plugged()
    bound: defaultdict[str, list[Json]] = defaultdict(list)
    for pod in pods:
        if not is_over(pod):
            bound[pod["spec"].get("nodeName", "")].append(pod)
    hosts: dict[Host, None] = {}
    gpus: list[Gpu] = []
    pools: list[Pool] = []
    held: dict[str, tuple[Device, ...]] = {}
    for name, node, offered, board in sorted(known, key=lambda one: one[0]):
        hosts[Host(board, offered.labelled, offered.single, offered.replicas, offered.resource)] = None
        instances = tuple(sorted(offered.instances.items()))
        devices = _devices(name, board, offered.whole, instances, offered.replicas)
        mine = _dealt(sorted(bound[name], key=key_of), devices, board, offered)
        held |= mine
        cards = dict.fromkeys(device.gpu for device in (*devices, *(d for one in mine.values() for d in one)))
        gpus += [Gpu(card, name, board) for card in cards]
        taken = {device.name for one in mine.values() for device in one}
        is_open = takes_pods(node) and _are_kept(bound[name], board, offered)
        open_ = devices if is_open else tuple(d for d in devices if d.name in taken)
        pools.append(Pool(name, name, open_, {}))
    return Plugged(tuple(hosts), tuple(gpus), tuple(pools), held)


def takes_pods(node: Json) -> bool:
    """Return whether new pods may come: it is ready, not cordoned, and nobody changes its layout."""
    spec, labels = node.get("spec") or {}, node["metadata"].get("labels") or {}
    return (
        not spec.get("unschedulable")
        and all(taint.get("key") not in _CLOSED for taint in spec.get("taints") or ())
        and labels.get("nvidia.com/mig.config.state") not in _CHANGING
    )


def _is_sliced_whole(offered: Offered) -> bool:
    """Return whether whole cards are time-sliced, and nothing else, into what a share can be counted in."""
    return offered.replicas <= SHARE_UNITS and not (offered.single or any(offered.instances.values()))


def _are_kept(pods: Iterable[Json], board: Board, offered: Offered) -> bool:
    """Return whether each tenant of time-sliced cards leaves the memory of the others alone."""
    if offered.replicas == 1:
        return True
    slice_ = time_slice(board, offered.replicas)
    return all(are_kept(pod["spec"], slice_) for pod in pods)


@lru_cache(maxsize=4096)
def _devices(
    node: str, board: Board, whole: int, instances: tuple[tuple[str, int], ...], replicas: int
) -> tuple[Device, ...]:
    """Return what a node offers, card by card; of time slices in turn, so that a few are on as many cards."""
    if replicas > 1:
        slice_ = time_slice(board, replicas)
        return tuple(
            _device(node, board, f"gpu-{card}-{number}", card, slice_.profile, frozenset({number}))
            for number in range(replicas)
            for card in range(whole)
        )
    everything = frozenset(range(board.grid))
    found = [_device(node, board, f"gpu-{index}", index, None, everything) for index in range(whole)]
    for index, layout in enumerate(_cards(board, instances), start=whole):
        for number, placement in enumerate(sorted(layout, key=lambda one: one.start)):
            profile = board.profile(placement.profile)
            units = frozenset(range(placement.start, placement.start + profile.memory_slices))
            name = f"gpu-{index}-mig-{profile.name}-{number}"
            found.append(_device(node, board, name, index, profile.name, units))
    return tuple(found)


def _device(
    node: str, board: Board, name: str, card: int, profile: str | None, units: frozenset[int]
) -> Device:
    return Device(
        node=node,
        pool=node,
        name=name,
        kind=_kind(board, profile),
        gpu=f"{node}/gpu-{card}",
        profile=profile,
        draws={},
        memory_slices=units,
        product=board.product_names[0],
        architecture=board.architecture,
    )


def _kind(board: Board, profile: str | None) -> str:
    if profile is None:
        return "gpu"
    return "share" if Shape(board.id, profile).hundredths else "mig"


def _cards(board: Board, instances: tuple[tuple[str, int], ...]) -> Iterator[Layout]:
    """Yield legal layouts that come to these instances, large ones first; unknown profiles are left out."""
    known = {profile.name: profile for profile in board.profiles}
    wanted = [name for name, count in instances if name in known for _ in range(count)]
    wanted.sort(key=lambda name: (-known[name].memory_slices, -known[name].compute_slices, name))
    cards: list[Counter[str]] = []
    for name in wanted:
        fitting = (card for card in cards if realise(board, card + Counter([name])) is not None)
        card = next(fitting, None)
        if card is None:
            card = Counter()
            cards.append(card)
        card[name] += 1
    for card in cards:
        layout = realise(board, card)
        if layout is not None:
            yield layout


def _dealt(
    pods: Iterable[Json], devices: tuple[Device, ...], board: Board, offered: Offered
) -> dict[str, tuple[Device, ...]]:
    """Return what pods hold. A kubelet admits a pod only with what it asks for, so each has that.

    Where less is on offer than pods hold, as while the plugin starts anew, the rest is made up.
    """
    free: defaultdict[str | None, list[Device]] = defaultdict(list)
    for device in reversed(devices):
        free[device.profile].append(device)
    held: dict[str, tuple[Device, ...]] = {}
    for pod in pods:
        got: list[Device] = []
        for resource, count in resources_asked(pod["spec"]).items():
            profile = _held_as(resource, board, offered)
            if resource not in {GPU, SHARED_GPU} and profile is None:
                continue
            for number in range(amount(count)):
                name = f"lost-{pod['metadata']['uid']}-{number}"
                lost = _device(pod["spec"]["nodeName"], board, name, 0, profile, frozenset())
                got.append(free[profile].pop() if free[profile] else lost)
        if got:
            held[pod["metadata"]["uid"]] = tuple(got)
    return held


def _held_as(resource: str, board: Board, offered: Offered) -> str | None:
    """Return the profile of what a resource is on a node, `None` = a whole card, or nothing of the plugin."""
    if resource not in {GPU, SHARED_GPU}:
        return profile_of(resource)
    return time_slice(board, offered.replicas).profile if offered.replicas > 1 else offered.single
