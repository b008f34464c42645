"""Nodes under MIG managers in the embedded world, and what a change of their layouts may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import yaml

from actuator.layouts.format import VERSION
from actuator.layouts.named import Cut, entries_of
from actuator.layouts.node import CONFIG_LABEL, TAINT
from actuator.manifest import Json, labels_of, selects, version_of
from actuator.mechanisms.device_plugin import PRODUCT_LABEL
from actuator.objects.slices import Inventory, SliceReader
from fleet.boards import Board
from fleet.errors import ConflictError, RefusedError
from simulator.api import BUDGET, CLAIM, CONFIG_MAP, NODE, POD, SLICE, Api
from simulator.clock import Clock
from simulator.labels import label
from simulator.mig_manager import STATE, Fault, MigManager, Times
from simulator.offering import ByDriver, ByPlugin

NAMESPACE, CONFIG_MAP_NAME, FILE = "gpu-operator", "default-mig-parted-config", "config.yaml"
FIRST = "first-{number}"
"""Names of the configurations that the nodes begin with."""


@dataclass(frozen=True, slots=True)
class Managed:
    """Nodes whose cards a MIG manager cuts, and a device plugin offers or DRA's driver.

    Attributes:
        cuts: What the cards of each node are cut into to begin with.
        times: How long the parts of a change take.
        fault: Asked once a change: what goes wrong with it.
        namespace: Where the managers' ConfigMap is.
        is_claimed: DRA's driver offers them.
    """

    cuts: tuple[tuple[Cut, ...], ...]
    times: Times = field(default_factory=Times)
    fault: Callable[[], Fault] = lambda: Fault.NONE
    namespace: str = NAMESPACE
    is_claimed: bool = False


def start_managers(api: Api, clock: Clock, nodes: Sequence[str], board: Board, managed: Managed) -> None:
    """Label nodes that are registered as feature discovery does, and start a manager on each."""
    configs = {
        FIRST.format(number=number): entries_of(cuts) for number, cuts in enumerate(managed.cuts, start=1)
    }
    text = yaml.safe_dump({"version": VERSION, "mig-configs": configs}, sort_keys=False)
    metadata = {"namespace": managed.namespace, "name": CONFIG_MAP_NAME}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {FILE: text}})

    def file() -> str:
        return str((api.get(CONFIG_MAP, managed.namespace, CONFIG_MAP_NAME) or {})["data"][FILE])

    product = board.product_names[0].replace(" ", "-")
    for node, name, cuts in zip(nodes, configs, managed.cuts, strict=True):
        label(api, node, {PRODUCT_LABEL: product, CONFIG_LABEL: name, STATE: "success"})
        cards = [(board, cut) for cut in cuts]
        offering = ByDriver(api, node) if managed.is_claimed else ByPlugin(api, node)
        MigManager(api, clock, node, cards, file, managed.times, managed.fault, offering)


class EmbeddedNodes:
    """Implements `actuator.layouts.hands.Door` on objects of the embedded world."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._slices = SliceReader()

    def node(self, name: str) -> Json:
        """Return a Node; `ConflictError` if there is none."""
        body = self._api.get(NODE, None, name)
        if body is None:
            raise ConflictError(f"Node {name} does not exist")
        return body

    def nodes(self) -> Sequence[Json]:
        """Return every Node."""
        return self._api.list(NODE)

    def pods_on(self, node: str) -> Sequence[Json]:
        """Return the pods that are bound to a node."""
        return [pod for pod in self._api.list(POD) if pod["spec"].get("nodeName") == node]

    def file(self) -> tuple[str, str]:
        """Return the manager's file and the version that a write must still find."""
        body = self._api.get(CONFIG_MAP, NAMESPACE, CONFIG_MAP_NAME) or {}
        return str(body["data"][FILE]), version_of(body)

    def write_file(self, text: str, version: str) -> None:
        """Write the manager's file."""
        body = self._api.get(CONFIG_MAP, NAMESPACE, CONFIG_MAP_NAME) or {}
        metadata = {**body["metadata"], "resourceVersion": version}
        self._api.replace({**body, "metadata": metadata, "data": {FILE: text}})

    def published(self, node: str = "") -> Inventory:
        """Return what NVIDIA's DRA driver publishes of a node, `""` = of all; nothing where there is none."""
        bodies = self._api.list(SLICE)
        return self._slices.read([body for body in bodies if node in {"", body["spec"].get("nodeName")}])

    def claims(self) -> Sequence[Json]:
        """Return every ResourceClaim."""
        return self._api.list(CLAIM)

    def mark(
        self, node: Json, labels: Mapping[str, str], notes: Mapping[str, str | None], *, is_held: bool
    ) -> None:
        """Set labels, our annotations and our taint, on the version of the node; nothing else moves."""
        metadata, spec = node["metadata"], node.get("spec") or {}
        merged = {**(metadata.get("annotations") or {}), **notes}
        kept = {name: value for name, value in merged.items() if value is not None}
        metadata = {**metadata, "labels": {**labels_of(node), **labels}, "annotations": kept}
        taints = [taint for taint in spec.get("taints") or () if taint["key"] != TAINT["key"]]
        taints += [dict(TAINT)] if is_held else []
        self._api.replace({**node, "metadata": metadata, "spec": {**spec, "taints": taints}})

    def evict(self, pod: Json) -> None:
        """Evict a pod that was seen, and none that came after it; `RefusedError` while a budget keeps it."""
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        for budget in self._api.list(BUDGET, namespace):
            allowed = (budget.get("status") or {}).get("disruptionsAllowed", 0)
            if selects(budget["spec"]["selector"], labels_of(pod)) and not allowed:
                raise RefusedError("Cannot evict pod as it would violate the pod's disruption budget.")
        self._api.delete(POD, namespace, name, uid=pod["metadata"]["uid"])
