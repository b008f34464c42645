"""One turn of a node towards a layout: see, decide, carry out one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from actuator.layouts.config_file import with_configs
from actuator.layouts.format import configs_in
from actuator.layouts.named import is_as_named, other_of
from actuator.layouts.node import (
    CHANGES,
    CONFIG_LABEL,
    OPERAND_LABELS,
    PAUSED,
    PROGRESS,
    Wish,
    annotations_of,
    layouts_in_use,
    published_of,
    seen_of,
)
from actuator.layouts.rollout import Act, Step, next_step
from actuator.manifest import Json, key_of, labels_of
from actuator.objects.slices import Inventory
from fleet.errors import ConflictError, RefusedError

MARKS = frozenset({Act.HOLD, Act.LABEL, Act.RELEASE})
"""Steps that are written on the node itself."""


class Nodes(Protocol):
    """What any change of a node may ask of a cluster.

    Every verb may raise `UnavailableError`, and writes `ConflictError` (changed meanwhile) or `RefusedError`.
    """

    def node(self, name: str) -> Json:
        """Return a Node; `ConflictError` if there is none."""
        ...

    def pods_on(self, node: str) -> Sequence[Json]:
        """Return the pods that are bound to a node."""
        ...

    def evict(self, pod: Json) -> None:
        """Evict a pod that was seen, and none that came after it; `RefusedError` while a budget keeps it."""
        ...

    def nodes(self) -> Sequence[Json]:
        """Return every Node."""
        ...

    def mark(
        self, node: Json, labels: Mapping[str, str], notes: Mapping[str, str | None], *, is_held: bool
    ) -> None:
        """Set labels, our annotations and our taint, on the version of the node; nothing else moves."""
        ...


class Door(Nodes, Protocol):
    """What a change of layout may ask of a cluster, beside what any change of a node may."""

    def file(self) -> tuple[str, str]:
        """Return the manager's file and the version that a write must still find."""
        ...

    def write_file(self, text: str, version: str) -> None:
        """Write the manager's file."""
        ...

    def published(self, node: str = "") -> Inventory:
        """Return what NVIDIA's DRA driver publishes of a node, `""` = of all; nothing where there is none."""
        ...

    def claims(self) -> Sequence[Json]:
        """Return every ResourceClaim."""
        ...


def turn(
    door: Door,
    node: str,
    wish: Wish,
    now_s: float,
    *,
    keeps: Callable[[Json], str] = lambda _: "",
    is_dry: bool = False,
) -> Step:
    """Carry out the next step of a node towards a layout, and return it.

    `keeps` says of a pod why it may not be evicted now, empty = it may. It is asked of one after the other,
    and those that may go it takes for gone.

    Raises:
        ConflictError: The node is gone, or was changed meanwhile: turn again.
        InputError: The manager's file is not one that it takes.
        RefusedError: The cluster refuses what has to be done.
        UnavailableError: The cluster does not answer.
    """
    body = door.node(node)
    wish = replace(wish, name=wish.on(body))
    text, version = door.file()
    pods, inventory = door.pods_on(node), door.published(node)
    published = published_of(node, inventory, door.claims() if inventory.gpus else ())
    seen = seen_of(body, pods, configs_in(text, "the MIG manager's file"), wish, keeps, published)
    step = next_step(seen, wish.name, now_s)
    if is_dry:
        return step
    if step.act is Act.EVICT:
        return evicted(door, step, pods)
    if step.act is Act.WRITE:
        door.write_file(_with(text, wish, layouts_in_use(door.nodes())), version)
    elif step.act is Act.RESTORE:
        paused = [name for name, value in labels_of(body).items() if value == PAUSED]
        running = {name: "true" for name in paused if name.startswith(OPERAND_LABELS)}
        door.mark(body, running, annotations_of(body, seen.progress), is_held=seen.is_held)
    elif step.act in MARKS:
        mark(door, body, step, now_s, (CONFIG_LABEL, PROGRESS, CHANGES))
    return step


def mark(door: Nodes, node: Json, step: Step, now_s: float, names: tuple[str, str, str]) -> None:
    """Write a step of `MARKS` on its node.

    `names` are the label that says what is wanted, and the annotations that keep how far a change is and when
    the last ones ended.
    """
    label, progress, changes = names
    labels = {label: step.label} if step.act is Act.LABEL else {}
    ended = None if step.took_s is None else (now_s, step.took_s)
    notes = annotations_of(node, step.progress, ended, progress, changes)
    door.mark(node, labels, notes, is_held=step.act is not Act.RELEASE)


def evicted(door: Nodes, step: Step, pods: Iterable[Json]) -> Step:
    """Evict all that may go at once: each that comes up elsewhere would make the next one wait."""
    seen = {str(key_of(pod)): pod for pod in pods}
    gone, because = [], ""
    for pod in step.pods:
        try:
            door.evict(seen[pod])
        except ConflictError:
            because = f"{pod} is gone already"
        except RefusedError as error:
            because = f"{pod} may not go now: {error}"
        else:
            gone.append(pod)
    return replace(step, pods=tuple(gone)) if gone else replace(step, act=Act.WAIT, pods=(), because=because)


def _with(text: str, wish: Wish, in_use: frozenset[str]) -> str:
    """Return the manager's file with both names of a wish; of ours, those that no node uses go."""
    before = configs_in(text, "the MIG manager's file")
    kept = {
        name: entries for name, entries in before.items() if name in in_use and is_as_named(name, entries)
    }
    wanted = {name: [dict(entry) for entry in wish.entries] for name in (wish.name, other_of(wish.name))}
    return with_configs(text, {**kept, **wanted}, "the MIG manager's file")
