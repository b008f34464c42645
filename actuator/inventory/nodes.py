"""What a node offers, from its labels and resources; evidence goes before what a label says was wanted.

Labels: NVIDIA/k8s-device-plugin docs/gpu-feature-discovery; states of a layout: NVIDIA/mig-parted
pkg/mig/reconfigure (pending, rebooting, success, failed).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from actuator.inventory.findings import Finding, error, warning
from actuator.inventory.layouts import CardLayout, advertised, card_layouts
from actuator.manifest import Json, labels_of
from actuator.mechanisms.device_plugin import GPU
from actuator.objects.nodes import board_of, offered_by
from fleet.boards import BOARDS
from fleet.devices import Device

_LOST = "-MIG-INVALID"
_UNTOUCHED = "all-disabled"
"""The vendor's name for the configuration that leaves every card whole."""

Configs = Mapping[str, list[Json]]
"""Named configurations of mig-parted."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node with cards.

    Attributes:
        name: Name.
        product: Product as labelled, without what feature discovery appends.
        board: Id of the board it is known as, empty if it is not known.
        memory_mib: Memory of a card as labelled, 0 if it is not.
        whole_gpus: Uncut cards that can be used.
        unhealthy_gpus: Devices that the plug-in counts but does not offer.
        instances: MIG instances on offer by profile.
        replicas: How often each card is offered; 1 where it is not time-sliced.
        layout_config: Configuration that is wanted, empty if none is.
        layout_state: What the evidence says of it: as-planned, failed, lost, changing, drifted, or unknown.
        layouts: What the wanted configuration makes of each card, where it is known.
        is_single: Instances are offered as if they were cards: MIG strategy `single`.
        is_dynamic: NVIDIA's DRA driver cuts the cards as claims come, so that nobody else may.
    """

    name: str
    product: str
    board: str
    memory_mib: int
    whole_gpus: int
    unhealthy_gpus: int
    instances: Mapping[str, int]
    replicas: int
    layout_config: str
    layout_state: str
    layouts: tuple[CardLayout, ...] = field(default=())
    is_single: bool = False
    is_dynamic: bool = False


def node_view(
    node: Json, configs: Configs, published: Sequence[Device] = ()
) -> tuple[NodeView, list[Finding]]:
    """Return what a node offers, and what is wrong with it.

    Args:
        node: The Node.
        configs: Configurations of the MIG manager, by name; empty if they are not known.
        published: What NVIDIA's DRA driver publishes of the node.
    """
    labels, offered = labels_of(node), offered_by(node, published)
    board, visible = board_of(offered.product), offered.whole + offered.unhealthy
    config = str(labels.get("nvidia.com/mig.config", ""))
    gpus = visible if config not in configs else _cards(configs[config], visible)
    layouts = card_layouts(configs[config], gpus, board) if board and config in configs else ()
    view = NodeView(
        name=node["metadata"]["name"],
        product=offered.product,
        board=board.id if board else "",
        memory_mib=int(labels.get(f"{GPU}.memory", 0)),
        whole_gpus=offered.whole,
        unhealthy_gpus=offered.unhealthy,
        instances=offered.instances,
        replicas=offered.replicas,
        layout_config=config,
        layout_state=_state(
            offered.labelled,
            str(labels.get("nvidia.com/mig.config.state", "")),
            layouts,
            offered.whole,
            offered.instances,
        ),
        layouts=layouts,
        is_single=offered.single is not None,
        is_dynamic=offered.is_dynamic,
    )
    return view, _findings(view, configs)


def _cards(entries: list[Json], visible: int) -> int:
    named = [index for entry in entries if isinstance(entry["devices"], list) for index in entry["devices"]]
    return max([visible, *(int(index) + 1 for index in named)])


def _state(
    labelled: str, state: str, layouts: tuple[CardLayout, ...], whole: int, instances: Mapping[str, int]
) -> str:
    if labelled.endswith(_LOST):
        return "lost"
    if state in {"pending", "rebooting"}:
        return "changing"
    if state != "success":
        return state or "unknown"
    if not layouts:
        return "unknown"
    planned = advertised(layouts)
    return "as-planned" if planned == (whole, {p: n for p, n in instances.items() if n}) else "drifted"


def shown_by(view: NodeView, configs: Configs) -> str | None:
    """Return the configuration that makes of the node what it shows now, `None` if none is known to.

    The one that is wanted comes first: others may come to the same counts. Where a change failed this is
    what to go back to: it is there, whatever was wanted.
    """
    board = BOARDS.get(view.board)
    total = view.whole_gpus + view.unhealthy_gpus
    if board:
        for name, entries in sorted(configs.items(), key=lambda one: (one[0] != view.layout_config, one[0])):
            layouts = card_layouts(entries, _cards(entries, total), board)
            if advertised(layouts) == (total, {p: n for p, n in view.instances.items() if n}):
                return name
    return _UNTOUCHED if total and not any(view.instances.values()) else None


def _findings(view: NodeView, configs: Configs) -> list[Finding]:
    on, found = f"Node {view.name}", []
    if not view.board and view.product:
        found.append(
            warning("unknown-board", on, f"product {view.product} is not known", "read its geometry from DRA")
        )
    found += [
        error(
            "illegal-layout",
            on,
            f"{view.layout_config} cuts card {layout.index} into what cannot lie on {view.board}",
            "correct the configuration before it is applied: the card would be cleared and left empty",
        )
        for layout in view.layouts
        if not layout.is_legal
    ]
    if view.unhealthy_gpus:
        found.append(
            error(
                "unhealthy-gpu",
                on,
                f"{view.unhealthy_gpus} of its devices are counted but not offered: marked unhealthy",
                "replace what runs there, first making and then breaking; restart the plug-in after a reset",
            )
        )
    return found + _layout_findings(view, on, configs)


def _layout_findings(view: NodeView, on: str, configs: Configs) -> list[Finding]:
    wanted = view.layout_config
    if view.layout_state == "lost":
        return [
            error(
                "layout-lost",
                on,
                "MIG mode is on and no instance exists, whatever the state label says",
                f"apply {wanted or 'the layout'} again once, by way of another value, then back off",
            )
        ]
    if view.layout_state == "failed":
        back = shown_by(view, configs)
        return [
            error(
                "layout-failed",
                on,
                f"the change to {wanted} failed; what is offered counts: {_offer(view)}",
                f"go back to {back or 'the last layout that worked'}, then back off; see whether a reset or "
                "a reboot is needed; writing the same value again does nothing",
            )
        ]
    if view.layout_state == "changing":
        what = f"the change to {wanted} is under way or stuck: nothing of it counts"
        return [
            warning(
                "layout-changing", on, what, "wait for success, and after 10 minutes restore the last layout"
            )
        ]
    if view.layout_state == "drifted":
        return [
            error(
                "layout-drifted",
                on,
                f"success is claimed for {wanted}, but what is offered is {_offer(view)}",
                "believe what is offered; apply the layout again, or correct the label",
            )
        ]
    return []


def _offer(view: NodeView) -> str:
    parts = [f"{view.whole_gpus} whole", *(f"{n} x {profile}" for profile, n in view.instances.items() if n)]
    return ", ".join(parts)
