"""``foreslice layout slice``: one node whose cards are offered in another number of time slices."""

from __future__ import annotations

from pathlib import Path

from actuator.kube.apiserver import ApiServer
from actuator.kube.nodes import PluginDoor
from actuator.slicing.hands import turn
from foreslice.relayout import Files, Turn, follow


def apply_slices(config: Path, node: str, plugin: str, replicas: int, *, is_dry: bool, as_json: bool) -> bool:
    """Have the cards of a node offered so many times, or say the next step, and return whether they are.

    It may be stopped and run again: how far it is stands on the node.

    Raises:
        InputError: What was given cannot be used, or the rights do not reach.
        UnavailableError: The API server did not answer.
    """

    def taken(server: ApiServer, namespace: str, name: str) -> Turn:
        door = PluginDoor(server, namespace, name, lambda: None)
        return lambda now_s: turn(door, node, replicas, now_s, is_dry=is_dry)

    files = Files(plugin, "--plugin", "device plugin", "gpu-operator/device-plugin-config")
    return follow(config, node, files, taken, is_dry=is_dry, as_json=as_json)
