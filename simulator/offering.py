"""What of NVIDIA's offers the cards of a node as they are cut: its device plugin, or its DRA driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from actuator.layouts.named import Cut
from actuator.layouts.node import published_of
from actuator.manifest import key_of
from actuator.mechanisms.device_plugin import GPU, resource_of
from actuator.objects.granted import resources_asked
from actuator.objects.pods import is_over
from actuator.objects.slices import SliceReader
from fleet.boards import Board
from fleet.mig import realise
from simulator.api import CLAIM, NODE, POD, SLICE, Api, Json
from simulator.static_driver import Card, static_slices


class Offering(Protocol):
    """Offers the cards of one node."""

    def show(self, cards: Sequence[tuple[Board, Cut]]) -> None:
        """Look at the cards as it starts, and offer what is there; `None` = a card is whole."""
        ...

    def is_busy(self, profiles: Collection[str | None]) -> bool:
        """Return whether a pod may be on a card of which these are the instances, `None` = it is whole."""
        ...


class ByPlugin:
    """Implements `Offering`: resources of the Node, of which pods are given so many and nobody says which."""

    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._node = node

    def show(self, cards: Sequence[tuple[Board, Cut]]) -> None:
        """See `Offering`."""
        body = self._api.get(NODE, None, self._node)
        if body is None:
            return
        counts: Counter[str] = Counter({GPU: 0})
        for _, cut in cards:
            if cut is None:
                counts[GPU] += 1
            else:
                counts.update({resource_of(profile): count for profile, count in cut.items()})
        status = dict(body.get("status") or {})
        for part in ("capacity", "allocatable"):
            others = {n: a for n, a in (status.get(part) or {}).items() if not n.startswith("nvidia.com/")}
            status[part] = others | {name: str(count) for name, count in counts.items()}
        self._api.replace_status({**body, "status": status})

    def is_busy(self, profiles: Collection[str | None]) -> bool:
        """See `Offering`."""
        resources = set(map(resource_of, profiles))
        return any(resources & resources_asked(pod["spec"]).keys() for pod in _pods(self._api, self._node))


class ByDriver:
    """Implements `Offering`: the only ResourceSlice of the node, and claims say which device a pod has.

    Instances are found when the driver's plugin starts, and on a card in MIG mode that has none nothing is
    (NVIDIA/k8s-dra-driver-gpu, docs/concepts/gpu-allocation.md).
    """

    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._node = node

    def show(self, cards: Sequence[tuple[Board, Cut]]) -> None:
        """See `Offering`."""
        owner = self._api.get(NODE, None, self._node)
        if owner is None:
            return
        (body,) = static_slices(self._node, [_laid(board, cut) for board, cut in cards])
        body["metadata"]["ownerReferences"][0]["uid"] = owner["metadata"]["uid"]
        before = [each for each in self._api.list(SLICE) if each["spec"].get("nodeName") == self._node]
        if not before:
            self._api.create(body)
            return
        pool = {**body["spec"]["pool"], "generation": before[0]["spec"]["pool"]["generation"] + 1}
        self._api.replace({**before[0], "spec": {**body["spec"], "pool": pool}})

    def is_busy(self, profiles: Collection[str | None]) -> bool:
        """See `Offering`."""
        inventory = SliceReader().read(self._api.list(SLICE))
        held = published_of(self._node, inventory, self._api.list(CLAIM)).held
        pods = (str(key_of(pod)) for pod in _pods(self._api, self._node))
        return any(held.get(pod, frozenset()) & set(profiles) for pod in pods)


def _pods(api: Api, node: str) -> list[Json]:
    return [pod for pod in api.list(POD) if pod["spec"].get("nodeName") == node and not is_over(pod)]


def _laid(board: Board, cut: Mapping[str, int] | None) -> Card:
    """Return a card whose instances lie where the tool would put them."""
    if cut is None:
        return Card(board)
    placed = realise(board, cut) or frozenset()
    return Card(board, tuple(sorted(placed, key=lambda placement: placement.start)))
