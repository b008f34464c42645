"""Writes down what the objects of the cluster tell: which claims hold which devices, and who scaled what."""

from __future__ import annotations

from collections.abc import Sequence

from actuator.manifest import STANDBY_LABEL, key_of, labels_of
from actuator.mechanisms.device_plugin import asks_plugin
from actuator.objects.allocations import granted
from actuator.objects.plugged import plugged
from actuator.objects.slices import SliceReader
from fleet.boards import Board
from fleet.devices import Device
from fleet.shape import WHOLE, Shape, slice_of
from fleet.workload import WorkloadKey
from simulator.api import CLAIM, DEPLOYMENT, NODE, POD, SLICE, Api, Change, Event
from simulator.clock import Clock
from simulator.journal import Holding, Journal, Scaling
from simulator.manifests import workload_of


class Observer:
    """Watches claims, pods and Deployments, and writes what changes into a journal."""

    def __init__(self, api: Api, clock: Clock, journal: Journal) -> None:
        self._api = api
        self._clock = clock
        self._journal = journal
        self._slices = SliceReader()
        self._held: dict[str, list[str]] = {}
        self._replicas: dict[str, int] = {}
        api.watch(CLAIM, self._on_claim)
        api.watch(POD, self._on_pod)
        api.watch(DEPLOYMENT, self._on_deployment)

    def _on_claim(self, event: Event) -> None:
        claim, name = event.body, str(key_of(event.body))
        is_held = event.change is not Change.DELETED and bool(granted(claim))
        if is_held and name not in self._held:
            by = claim["status"]["reservedFor"][0]["name"]
            pod = self._api.get(POD, claim["metadata"]["namespace"], by)
            if pod is not None:
                inventory = self._slices.read(self._api.list(SLICE))
                gpus = inventory.gpu_by_uuid()
                held = [inventory.held(result) for result in granted(claim)]
                holder = None if STANDBY_LABEL in labels_of(claim) else workload_of(pod)
                self._begin(name, holder, [(each, gpus[each.gpu].board) for each in held if each is not None])
        elif not is_held and name in self._held:
            self._end(name)

    def _on_pod(self, event: Event) -> None:
        """Note what a pod holds of a device plugin: from when it has a node until it is gone."""
        pod = event.body
        uid, node = pod["metadata"]["uid"], pod["spec"].get("nodeName")
        if event.change is Change.DELETED and uid in self._held:
            self._end(uid)
        elif (
            node and event.change is not Change.DELETED and uid not in self._held and asks_plugin(pod["spec"])
        ):
            plugs = plugged([self._api.get(NODE, None, node) or {}], self._api.list(POD))
            held = [(each, plugs.boards[each.gpu]) for each in plugs.held[uid]]
            self._begin(uid, workload_of(pod), held)

    def _begin(self, name: str, holder: WorkloadKey | None, devices: Sequence[tuple[Device, Board]]) -> None:
        """Note what is held from now on, under a name of its own: each card counts."""
        self._held[name] = [f"{name}/{device.gpu}/{device.name}" for device, _ in devices]
        for span, (device, board) in zip(self._held[name], devices, strict=True):
            share = slice_of(board, Shape(board.id, device.profile or WHOLE)).gpu_share
            self._journal.holdings.begin(span, Holding(holder, device, share, self._clock.now_s))

    def _end(self, name: str) -> None:
        for span in self._held.pop(name):
            self._journal.holdings.end(span, self._clock.now_s)

    def _on_deployment(self, event: Event) -> None:
        metadata, spec = event.body["metadata"], event.body["spec"]
        before = self._replicas.get(metadata["name"], 0)
        if event.change is not Change.DELETED and spec["replicas"] != before:
            self._replicas[metadata["name"]] = spec["replicas"]
            workload = workload_of(
                {"metadata": {**metadata, "labels": spec["template"]["metadata"]["labels"]}}
            )
            self._journal.scalings.append(
                Scaling(self._clock.now_s, workload, metadata["name"], spec["replicas"])
            )
