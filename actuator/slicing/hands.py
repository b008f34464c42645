"""One turn of a node towards another number of time slices: see, decide, carry out one step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from actuator.layouts.hands import MARKS, Nodes, evicted, mark
from actuator.layouts.named import is_ours, other_of
from actuator.layouts.node import layouts_in_use
from actuator.layouts.rollout import Act, Step, next_step
from actuator.manifest import Json
from actuator.slicing.config import text_of
from actuator.slicing.node import CHANGES, CONFIG_LABEL, PROGRESS, goal_of, seen_of


class Door(Nodes, Protocol):
    """What a change of time slices may ask of a cluster, beside what any change of a node may."""

    def configs(self) -> tuple[Mapping[str, str], str]:
        """Return the texts of the plugin's configs by name, and the version that a write must still find."""
        ...

    def write_configs(self, texts: Mapping[str, str | None], version: str) -> None:
        """Write configs by name, `None` = it goes; no other is touched."""
        ...


def turn(
    door: Door,
    node: str,
    replicas: int,
    now_s: float,
    *,
    keeps: Callable[[Json], str] = lambda _: "",
    is_dry: bool = False,
) -> Step:
    """Carry out the next step of a node towards cards that are offered so many times, and return it.

    `keeps` says of a pod why it may not be evicted now, empty = it may.

    Raises:
        ConflictError: The node is gone, or was changed meanwhile: turn again.
        InputError: The plugin does not take the config that the node has.
        RefusedError: The cluster refuses what has to be done.
        UnavailableError: The cluster does not answer.
    """
    body = door.node(node)
    texts, version = door.configs()
    goal = goal_of(body, texts, replicas)
    pods = door.pods_on(node)
    seen = seen_of(body, pods, texts, goal, keeps)
    step = next_step(seen, goal.name, now_s)
    if is_dry:
        return step
    if step.act is Act.EVICT:
        return evicted(door, step, pods)
    if step.act is Act.WRITE:
        used = layouts_in_use(door.nodes(), CONFIG_LABEL, PROGRESS)
        gone = dict.fromkeys(name for name in texts if is_ours(name) and name not in used)
        ours = dict.fromkeys((goal.name, other_of(goal.name)), text_of(goal.config))
        door.write_configs({**gone, **ours}, version)
    elif step.act in MARKS:
        mark(door, body, step, now_s, (CONFIG_LABEL, PROGRESS, CHANGES))
    return step
