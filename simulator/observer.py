"""Writes down what the objects of the cluster tell: which claims hold which devices, and who scaled what."""

from __future__ import annotations

from actuator.mechanisms.device_plugin import asks_plugin
from actuator.objects.plugged import plugged
from actuator.objects.slices import SliceReader
from actuator.objects.standings import allocated_ids
from fleet.shape import WHOLE, Shape, slice_of
from simulator.api import CLAIM, DEPLOYMENT, NODE, POD, SLICE, Api, Change, Event, Json
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
        self._replicas: dict[str, int] = {}
        api.watch(CLAIM, self._on_claim)
        api.watch(POD, self._on_pod)
        api.watch(DEPLOYMENT, self._on_deployment)

    def _on_claim(self, event: Event) -> None:
        claim, holdings = event.body, self._journal.holdings
        namespace, name = claim["metadata"]["namespace"], claim["metadata"]["name"]
        is_held = event.change is not Change.DELETED and bool(allocated_ids(claim))
        if is_held and name not in holdings:
            pod = self._api.get(POD, namespace, claim["status"]["reservedFor"][0]["name"])
            if pod is not None:
                holdings.begin(name, self._holding(claim, pod))
        elif not is_held and name in holdings:
            holdings.end(name, self._clock.now_s)

    def _on_pod(self, event: Event) -> None:
        """Note what a pod holds of a device plugin: from when it has a node until it is gone."""
        pod, holdings = event.body, self._journal.holdings
        name, node = f"plugged/{pod['metadata']['uid']}", pod["spec"].get("nodeName")
        if event.change is Change.DELETED and name in holdings:
            holdings.end(name, self._clock.now_s)
        elif (
            node and event.change is not Change.DELETED and name not in holdings and asks_plugin(pod["spec"])
        ):
            plugs = plugged([self._api.get(NODE, None, node) or {}], self._api.list(POD))
            device = plugs.held[pod["metadata"]["uid"]][0]
            shape = Shape(plugs.gpus[0].board.id, device.profile or WHOLE)
            share = slice_of(plugs.gpus[0].board, shape).gpu_share
            holdings.begin(name, Holding(workload_of(pod), device, share, self._clock.now_s))

    def _holding(self, claim: Json, pod: Json) -> Holding:
        inventory = self._slices.read(self._api.list(SLICE))
        device = inventory.devices()[allocated_ids(claim)[0]]
        board = inventory.gpu_by_uuid()[device.gpu].board
        shape = Shape(board.id, device.profile) if device.profile else Shape(board.id)
        return Holding(workload_of(pod), device, slice_of(board, shape).gpu_share, self._clock.now_s)

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
