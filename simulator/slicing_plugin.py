"""NVIDIA's device plugin with its config manager on one node, as seen from outside: labels and allocatable.

The config manager acts on a change of the node's label alone: a config that changes under its name does
nothing, and one that it does not find ends it, to be started again by the kubelet (NVIDIA/k8s-device-plugin
cmd/config-manager). The plugin is then sent SIGHUP and registers anew: until it has, nothing can be
allocated. One that it cannot read keeps it from starting. Pods that run are left alone, however few replicas
are left. How long a start takes has no published figure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from actuator.manifest import labels_of
from actuator.mechanisms.device_plugin import GPU, PRODUCT_LABEL, REPLICAS_LABEL, SHARED_GPU
from actuator.slicing.config import Config, config_in, replicas_in
from actuator.slicing.node import CONFIG_LABEL, COUNT_LABEL
from fleet.boards import Board
from fleet.errors import InputError
from simulator.api import NODE, Api, Event
from simulator.clock import Clock
from simulator.labels import label


@dataclass(frozen=True, slots=True)
class PluginTimes:
    """How long the parts of a change take, seconds.

    Attributes:
        again_s: Until the config manager is started again where it found no config.
        start_s: Until the plugin has registered anew.
        labels_s: Until feature discovery has labelled what it found.
    """

    again_s: float = 20.0
    start_s: float = 10.0
    labels_s: float = 30.0


class SlicingPlugin:
    """Follows the label of one node and offers its cards.

    Args:
        api: Where the node is.
        clock: Time.
        node: Name of the node, which exists and has the label.
        board: What its cards are.
        cards: How many.
        files: Returns the configs as the pod of the plugin sees them.
        times: How long things take.
    """

    def __init__(
        self,
        api: Api,
        clock: Clock,
        node: str,
        board: Board,
        cards: int,
        files: Callable[[], Mapping[str, str]],
        times: PluginTimes,
    ) -> None:
        self._api = api
        self._clock = clock
        self._node = node
        self._product = board.product_names[0].replace(" ", "-")
        self._cards = cards
        self._files = files
        self._times = times
        self._label: str | None = None
        self._configured: str | None = None
        api.watch(NODE, self._on_node)

    def _on_node(self, event: Event) -> None:
        body = event.body
        name = labels_of(body).get(CONFIG_LABEL)
        if body["metadata"]["name"] == self._node and name and name != self._label:
            self._label = name
            self._configure()

    def _configure(self) -> None:
        """Point the plugin at the config that the label names."""
        name = self._label or ""
        if name == self._configured:
            return
        text = self._files().get(name)
        if text is None:
            self._clock.after(self._times.again_s, self._configure)
            return
        self._configured = name
        self._offer({})
        try:
            config = config_in(text, name)
        except InputError:
            return
        self._clock.after(self._times.start_s, partial(self._start, name, config))

    def _start(self, name: str, config: Config) -> None:
        if name != self._configured:  # sent another signal meanwhile
            return
        slicing = (config.get("sharing") or {}).get("timeSlicing") or {}
        replicas = replicas_in(config)
        is_renamed = replicas > 1 and bool(slicing.get("renameByDefault"))
        self._offer({SHARED_GPU if is_renamed else GPU: self._cards * replicas})
        is_marked = replicas > 1 and not is_renamed
        labels = {
            PRODUCT_LABEL: f"{self._product}-SHARED" if is_marked else self._product,
            REPLICAS_LABEL: str(replicas),
            COUNT_LABEL: str(self._cards),
        }
        self._clock.after(self._times.labels_s, partial(self._write_labels, name, labels))

    def _offer(self, counts: Mapping[str, int]) -> None:
        """Publish what can be allocated; the kubelet keeps names that it knew, at nothing."""
        body = self._api.get(NODE, None, self._node)
        if body is None:
            return
        status = dict(body.get("status") or {})
        for part in ("capacity", "allocatable"):
            held = status.get(part) or {}
            known = {name: "0" for name in held if name in {GPU, SHARED_GPU}}
            status[part] = {**held, **known, **{name: str(count) for name, count in counts.items()}}
        self._api.replace_status({**body, "status": status})

    def _write_labels(self, name: str, labels: Mapping[str, str]) -> None:
        if name == self._configured:
            label(self._api, self._node, labels)
