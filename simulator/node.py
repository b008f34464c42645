"""The kubelet's part in the embedded world: pods that are bound to a node prepare, start, serve and end."""

from __future__ import annotations

from enum import Enum, auto
from functools import partial
from typing import Protocol

from actuator.mechanisms.device_plugin import asks_plugin
from actuator.objects.allocations import granted
from actuator.objects.slices import SliceReader
from fleet.errors import ConflictError
from fleet.shape import WHOLE, Shape
from simulator.api import CLAIM, NODE, POD, SLICE, Api, Change, Event, Json, timestamp
from simulator.clock import Clock
from simulator.delays import Delays, crowding
from simulator.errors import NotModelledError
from simulator.plugged import shape_held
from simulator.pods import claim_names, container_statuses, is_leaving, is_let, with_condition
from simulator.workqueue import WorkQueue

HOSTNAME = "kubernetes.io/hostname"
"""Label by which the scheduler tells nodes apart when it spreads the pods of a Deployment."""

# What a node has for pods beside its cards; the scheduler places nothing where there is none.
_RESOURCES = {"cpu": "192", "memory": "2Ti", "pods": "110"}
_ROOM = {"capacity": _RESOURCES, "allocatable": _RESOURCES}

# Namespace, name and uid: a name may be used again.
_Key = tuple[str, str, str]


class Containers(Protocol):
    """The engines inside the pods. A pod that is Ready serves; one that was told to end takes nothing new."""

    def start(self, pod: Json, shape: Shape) -> None:
        """Begin to load on this shape; called when the container starts."""
        ...

    def load_s(self, pod: Json) -> float:
        """Return seconds from start to serving, if nothing else starts on the node."""
        ...

    def drain_s(self, pod: Json) -> float:
        """Return seconds until the last request that the pod serves now is done."""
        ...

    def stop(self, pod: Json) -> None:
        """End; whatever is still being served is lost."""
        ...


class _Stage(Enum):
    PREPARING = auto()
    LOADING = auto()
    SERVING = auto()
    ENDING = auto()


class NodeAgent:
    """Runs the pods of one node, which it registers.

    A pod that is told to end drains for as long as its requests take, at most its grace period.
    """

    def __init__(self, api: Api, clock: Clock, node: str, containers: Containers, delays: Delays) -> None:
        self._api = api
        self._clock = clock
        self._node = node
        self._containers = containers
        self._delays = delays
        self._slices = SliceReader()
        self._stages: dict[_Key, _Stage] = {}
        self._running: dict[_Key, Json] = {}
        self._starts: WorkQueue[_Key] = WorkQueue(clock, self._start)
        self._statuses: WorkQueue[_Key] = WorkQueue(clock, self._write_status)
        self._ends: WorkQueue[_Key] = WorkQueue(clock, self._end)
        _register(api, node, clock.now_s)
        api.watch(POD, self._on_pod)

    def _on_pod(self, event: Event) -> None:
        pod = event.body
        if pod["spec"].get("nodeName") != self._node:
            return
        key = _key_of(pod)
        if event.change is Change.DELETED:
            self._stages.pop(key, None)
            self._stop(key)
        elif is_leaving(pod):
            # Told again, with less grace, the earlier end counts; one that comes too late finds nothing.
            self._stages[key] = _Stage.ENDING
            grace_s = pod["metadata"]["deletionGracePeriodSeconds"]
            drain_s = min(self._containers.drain_s(pod), grace_s) if key in self._running else 0.0
            self._clock.after(drain_s, partial(self._ends.add, key))
        elif key not in self._stages:
            self._stages[key] = _Stage.PREPARING
            wait_s = self._delays.prepare_s(pod) + self._delays.image_s(pod)
            self._starts.add(key, wait_s)
        elif pod["spec"].get("readinessGates"):
            self._statuses.add(key)

    def _start(self, key: _Key) -> None:
        pod = self._api.get(POD, key[0], key[1])
        if pod is None or self._stages.get(key) is not _Stage.PREPARING:
            return
        shape = self._shape(pod)
        starting = sum(stage is _Stage.LOADING for stage in self._stages.values())
        self._stages[key] = _Stage.LOADING
        self._running[key] = pod
        self._containers.start(pod, shape)
        self._clock.after(self._containers.load_s(pod) * crowding(starting), partial(self._serve, key))
        self._statuses.add(key)

    def _serve(self, key: _Key) -> None:
        if self._stages.get(key) is _Stage.LOADING:
            self._stages[key] = _Stage.SERVING
            self._statuses.add(key)

    def _end(self, key: _Key) -> None:
        if self._stages.get(key) is _Stage.ENDING:
            self._stop(key)
            self._api.delete(POD, key[0], key[1], uid=key[2], grace_s=0)

    def _stop(self, key: _Key) -> None:
        pod = self._running.pop(key, None)
        if pod is not None:
            self._containers.stop(pod)

    def _write_status(self, key: _Key) -> None:
        pod, stage = self._api.get(POD, key[0], key[1]), self._stages.get(key)
        if pod is None or stage not in (_Stage.LOADING, _Stage.SERVING):
            return
        at_s = self._clock.now_s
        status = {"startTime": timestamp(at_s), **pod["status"], "phase": "Running"}
        is_up = stage is _Stage.SERVING
        status["containerStatuses"] = container_statuses(pod, is_ready=is_up, at_s=at_s)
        # Devices are prepared before the sandbox is made (kubernetes pkg/kubelet, KEP-3085).
        status = with_condition(status, "PodReadyToStartContainers", is_true=True, at_s=at_s)
        for condition, is_true in (("ContainersReady", is_up), ("Ready", is_up and is_let(pod))):
            status = with_condition(status, condition, is_true=is_true, at_s=at_s)
        self._api.replace_status({**pod, "status": status})

    def _shape(self, pod: Json) -> Shape:
        """Return what a pod was given, read back from its claim and the node's slices, or of its plugin."""
        node = self._api.get(NODE, None, self._node)
        if node is not None and asks_plugin(pod["spec"]):
            return shape_held(pod, node)
        slices = [body for body in self._api.list(SLICE) if body["spec"].get("nodeName") == self._node]
        inventory = self._slices.read(slices)
        names = [name or "" for name in claim_names(pod).values()]
        claims = [self._api.get(CLAIM, pod["metadata"]["namespace"], name) or {} for name in names]
        devices = [inventory.held(result) for claim in claims for result in granted(claim)]
        if not devices or None in devices:
            raise NotModelledError(f"a container without a device that node {self._node} has")
        found = [device for device in devices if device is not None]
        board = inventory.gpu_by_uuid()[found[0].gpu].board
        return Shape(board.id, found[0].profile or WHOLE, len(found))


def _key_of(pod: Json) -> _Key:
    metadata = pod["metadata"]
    return metadata["namespace"], metadata["name"], metadata["uid"]


def _register(api: Api, name: str, at_s: float) -> None:
    """Make the node known as ready, unless it is known already; controllers may write to it meanwhile."""
    if api.get(NODE, None, name) is not None:
        return
    metadata = {"name": name, "labels": {HOSTNAME: name}}
    node = api.create({"apiVersion": NODE.api_version, "kind": NODE.name, "metadata": metadata, "spec": {}})
    status = with_condition(_ROOM, "Ready", is_true=True, at_s=at_s, reason="KubeletReady")
    while True:
        try:
            api.replace_status({**node, "status": status})
        except ConflictError:
            node = api.get(NODE, None, name) or node
        else:
            return
