"""A node as its objects show it, for the way to a layout."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from actuator.inventory.layouts import CardLayout, advertised, card_layouts
from actuator.inventory.nodes import NodeView, node_view, shown_by
from actuator.layouts.change import NodeChange, change_of
from actuator.layouts.format import Configs
from actuator.layouts.named import is_as_named, is_ours, name_of, other_of
from actuator.layouts.rollout import Progress, Seen
from actuator.manifest import GROUP, Json, key_of, labels_of
from actuator.mechanisms.device_plugin import resource_of
from actuator.objects.allocations import granted
from actuator.objects.granted import resources_asked
from actuator.objects.plugged import LAYOUT_TAINT
from actuator.objects.pods import is_over
from actuator.objects.restraints import spared_by
from actuator.objects.slices import Inventory
from fleet.boards import BOARDS
from fleet.devices import Device

CONFIG_LABEL = "nvidia.com/mig.config"
OPERAND_LABELS = "nvidia.com/gpu.deploy."
PAUSED = "paused-for-mig-change"
"""NVIDIA/mig-parted pkg/mig/reconfigure: what the label of an operand is while it must not run."""

PROGRESS = f"{GROUP}/layout"
"""Annotation of a node: how far the change of its layout is."""

CHANGES = f"{GROUP}/layout-changes"
"""Annotation of a node: when its last changes ended and how long they took, seconds, newest first."""

KEPT_CHANGES = 10

DYNAMIC = "NVIDIA's DRA driver cuts its cards as claims come (dynamic MIG)"
"""It destroys what others make of them (kubernetes-sigs/dra-driver-nvidia-gpu, DestroyUnknownMIGDevices)."""

TAINT = {"key": LAYOUT_TAINT, "value": "changing", "effect": "NoSchedule"}
"""Keeps new pods away while a node changes; one of ours, and the only one that is ever touched."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a node is to become.

    Attributes:
        name: Name of the configuration, one of people's or of ours.
        entries: What is in it.
    """

    name: str
    entries: Sequence[Mapping[str, Any]]

    def on(self, node: Json) -> str:
        """Return the name under which a node is asked for it: that of a change under way, if there is one."""
        if not is_ours(self.name):
            return self.name
        progress = progress_of(node)
        if progress is not None and progress.goal in {self.name, other_of(self.name)}:
            return progress.goal
        return name_of(self.entries, after=str(labels_of(node).get(CONFIG_LABEL, "")))


@dataclass(frozen=True, slots=True)
class Published:
    """What NVIDIA's DRA driver offers of a node, and what pods hold of it.

    Attributes:
        devices: What it publishes; empty where a device plugin offers the cards.
        held: Profiles by pod, `None` = a whole card.
    """

    devices: tuple[Device, ...] = ()
    held: Mapping[str, frozenset[str | None]] = field(default_factory=dict, hash=False)


UNPUBLISHED = Published()


def published_of(node: str, inventory: Inventory, claims: Iterable[Json]) -> Published:
    """Return what the driver offers of a node, and what pods hold of it by their claims."""
    devices = {device.id: device for device in inventory.devices_of(node)}
    held: defaultdict[str, set[str | None]] = defaultdict(set)
    for claim in claims if devices else ():
        ids = ((result["pool"], result["device"]) for result in granted(claim))
        profiles = {devices[each].profile for each in ids if each in devices}
        for user in (claim.get("status") or {}).get("reservedFor") or ():
            held[f"{key_of(claim).namespace}/{user['name']}"] |= profiles
    return Published(tuple(devices.values()), {pod: frozenset(found) for pod, found in held.items()})


def seen_of(
    node: Json,
    pods: Sequence[Json],
    configs: Configs,
    wish: Wish,
    keeps: Callable[[Json], str],
    published: Published = UNPUBLISHED,
) -> Seen:
    """Return a node as it is, and what its change takes.

    Args:
        node: The Node.
        pods: Pods that run on it.
        configs: Configurations of the manager's file.
        wish: What the node is to become.
        keeps: Why a pod may not be evicted now, empty = it may.
        published: What DRA's driver offers of it, and who holds what.
    """
    progress, labels = progress_of(node), labels_of(node)
    view, _ = node_view(node, configs, published.devices)
    before = progress.before if progress is not None else view.layout_config
    change, objections = _change(view, configs, wish, is_begun=progress is not None)
    names = (wish.name, other_of(wish.name))
    by_hand = edited((view.layout_config, *names), configs)
    return Seen(
        label=view.layout_config,
        state=str(labels.get(f"{CONFIG_LABEL}.state", "")),
        is_paused=any(n.startswith(OPERAND_LABELS) and value == PAUSED for n, value in labels.items()),
        shows_goal=_shows(view, wish.entries),
        shows_before=before in configs and _shows(view, configs[before]),
        is_written=all(name in configs for name in names),
        is_held=is_held(node),
        in_the_way=tuple(_in_the_way(pods, view, change, keeps, published.held))
        if change is not None
        else (),
        objections=(*objections, *by_hand),
        progress=progress,
    )


def progress_of(node: Json, key: str = PROGRESS) -> Progress | None:
    """Return how far the change of a node is, `None` if there is none, or what is kept cannot be read."""
    kept = (node["metadata"].get("annotations") or {}).get(key)
    try:
        return Progress(**json.loads(kept)) if kept else None
    except (TypeError, ValueError):
        return None


def layouts_in_use(nodes: Iterable[Json], label: str = CONFIG_LABEL, key: str = PROGRESS) -> frozenset[str]:
    """Return the names of configurations that nodes are labelled with, or are on the way to.

    Of ours both names: each may be asked for next.
    """
    found: set[str] = set()
    for node in nodes:
        progress = progress_of(node, key)
        found |= {str(labels_of(node).get(label, ""))}
        found |= {progress.goal, progress.before} if progress is not None else set()
    return frozenset(name for each in found - {""} for name in (each, other_of(each)))


def annotations_of(
    node: Json,
    progress: Progress | None,
    ended: tuple[float, float] | None = None,
    key: str = PROGRESS,
    changes: str = CHANGES,
) -> dict[str, str | None]:
    """Return the annotations by which a node keeps how far its change is and those that ended; `None` = goes.

    `ended` is when one has ended, seconds since the epoch, and how long it took.
    """
    kept = {key: None if progress is None else json.dumps(asdict(progress), sort_keys=True)}
    if ended is not None:
        kept[changes] = json.dumps(
            [[round(each) for each in ended], *changes_of(node, changes)][:KEPT_CHANGES]
        )
    return kept


def changes_of(node: Json, key: str = CHANGES) -> list[tuple[float, float]]:
    """Return when the last changes of a node ended and how long they took, seconds, newest first."""
    kept = (node["metadata"].get("annotations") or {}).get(key)
    try:
        return [(float(at_s), float(took_s)) for at_s, took_s in json.loads(kept)] if kept else []
    except (TypeError, ValueError):
        return []


def is_held(node: Json) -> bool:
    """Return whether a node carries our taint."""
    return any(taint.get("key") == TAINT["key"] for taint in (node.get("spec") or {}).get("taints") or [])


def _change(
    view: NodeView, configs: Configs, wish: Wish, *, is_begun: bool
) -> tuple[NodeChange | None, tuple[str, ...]]:
    board = BOARDS.get(view.board)
    if board is None:
        return None, (f"product {view.product or '-'} is not known",)
    if view.is_dynamic:
        return None, (DYNAMIC,)
    shown = shown_by(view, configs)
    if shown is None or shown not in configs:
        # While it is changing it shows nothing whole, and what may stand against it was asked before.
        return None, () if is_begun else ("what its cards are cut into does not show",)
    cards = cards_of(view)
    change = change_of(board, _layouts(view, configs[shown], cards), _layouts(view, wish.entries, cards))
    found = () if is_begun else tuple(unready(view))
    return change, (*change.objections, *found)


def unready(view: NodeView) -> Iterator[str]:
    """Yield what speaks against any change of a node's layout now."""
    if view.is_dynamic:
        yield DYNAMIC
    if view.layout_state in {"changing", "failed", "lost"}:
        yield f"the last change of its layout is {view.layout_state}"
    if view.unhealthy_gpus:
        yield f"{view.unhealthy_gpus} of its devices are unhealthy"


def edited(names: Iterable[str], configs: Configs) -> Iterator[str]:
    """Yield which of these configurations were made by us and edited by hand since: they are left alone."""
    for name in dict.fromkeys(names):
        if is_ours(name) and name in configs and not is_as_named(name, configs[name]):
            yield f"configuration {name} was edited by hand: give it a name of its own"


def may_be_cleared(
    pod: Json, view: NodeView, change: NodeChange, held: frozenset[str | None] = frozenset()
) -> bool:
    """Return whether a pod may be on a cleared card: which card it has, the device plugin does not say.

    `held` are the profiles that it holds by claims.
    """
    if change.frees & held:
        return True
    asked = {name.removesuffix(".shared") for name in resources_asked(pod["spec"])}
    return any(resource_of(None if view.is_single else profile) in asked for profile in change.frees)


def _in_the_way(
    pods: Sequence[Json],
    view: NodeView,
    change: NodeChange,
    keeps: Callable[[Json], str],
    held: Mapping[str, frozenset[str | None]],
) -> Iterator[tuple[str, str]]:
    """Yield pods that have to go first, with why one may not."""
    for pod in pods:
        name = str(key_of(pod))
        if not is_over(pod) and may_be_cleared(pod, view, change, held.get(name, frozenset())):
            is_going = "deletionTimestamp" in pod["metadata"]
            yield name, "it is ending" if is_going else spared_by(pod) or keeps(pod)


def _shows(view: NodeView, entries: Sequence[Mapping[str, Any]]) -> bool:
    offered = (view.whole_gpus, {profile: n for profile, n in view.instances.items() if n})
    return view.board in BOARDS and advertised(_layouts(view, entries, cards_of(view))) == offered


def cards_of(view: NodeView) -> int:
    """Return how many cards a node has, as far as it shows."""
    return len(view.layouts) or view.whole_gpus + view.unhealthy_gpus


def _layouts(view: NodeView, entries: Sequence[Mapping[str, Any]], cards: int) -> tuple[CardLayout, ...]:
    return card_layouts([dict(entry) for entry in entries], cards, BOARDS[view.board])
