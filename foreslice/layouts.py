"""``foreslice layout``: layouts of nodes as dumped objects show them, and what it takes to change one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from actuator.inventory.layouts import advertised, card_layouts
from actuator.inventory.nodes import NodeView, node_view, shown_by
from actuator.inventory.understand import Dump, dump_of, understand
from actuator.layouts.change import NodeChange, change_of
from actuator.layouts.node import cards_of, edited, may_be_cleared, published_of, unready
from actuator.manifest import Json, key_of, labels_of
from actuator.objects.slices import Inventory, SliceReader
from fleet.boards import BOARDS, Board
from fleet.errors import InputError
from foreslice import output, show
from foreslice.inventory import as_the_api_has_it, objects_in

_NODE_LABEL = "nvidia.com/node-name"
"""By which the ConfigMap names its node that the MIG manager generates from what the node's cards offer."""


@dataclass(frozen=True, slots=True)
class _Seen:
    dump: Dump
    inventory: Inventory
    nodes: tuple[NodeView, ...]

    def node(self, name: str) -> NodeView:
        for view in self.nodes:
            if view.name == name:
                return view
        known = ", ".join(view.name for view in self.nodes) or "none"
        raise InputError("no such node in the dump", where=f"--node {name}", fix=f"there are: {known}")

    def entries(self, config: str) -> list[Json]:
        if config not in self.dump.configs:
            known = ", ".join(self.dump.configs) or "none: give the ConfigMap or mig-parted's file as well"
            raise InputError(f"no configuration {config!r}", where="--objects", fix=f"there are: {known}")
        return self.dump.configs[config]


def show_layouts(paths: Sequence[Path], *, as_json: bool) -> None:
    """Print the layout of every node; `InputError` naming the file that cannot be used."""
    nodes = _seen(paths).nodes
    if as_json:
        output.print_json({"nodes": [_node_as_json(view) for view in nodes]})
        return
    table = show.table("node", "wanted", "is", "card", "cut into", "compute slices left")
    for view in nodes:
        head = (view.name, view.layout_config or "-", view.layout_state)
        for card in view.layouts:
            cut = "whole" if card.is_whole else ", ".join(card.placements or ("impossible",))
            table.add_row(*head, str(card.index), cut, "" if card.is_whole else str(card.free_compute_slices))
        if not view.layouts:
            table.add_row(*head, "-", "not known: give the ConfigMap with its configuration", "")
    show.console().print(table)


def is_shown(paths: Sequence[Path], node: str, wanted: str, *, as_json: bool) -> bool:
    """Print and return whether a node offers what a configuration makes of it.

    Raises:
        InputError: A file cannot be used, or it has no such node or configuration.
    """
    seen = _seen(paths)
    view = seen.node(node)
    config = wanted or view.layout_config
    planned = advertised(card_layouts(seen.entries(config), cards_of(view), _board(view)))
    there = (view.whole_gpus, {p: n for p, n in view.instances.items() if n})
    is_so = planned == there
    if as_json:
        output.print_json(
            {
                "node": node,
                "configuration": config,
                "is_so": is_so,
                "planned": _offer(planned),
                "there": _offer(there),
            }
        )
        return is_so
    line = f"{node} shows {config}: {_said(there)}"
    show.console().print(
        line if is_so else f"{node} does not show {config}: {_said(there)}, not {_said(planned)}"
    )
    return is_so


def show_change(paths: Sequence[Path], node: str, to: str, *, as_json: bool) -> bool:
    """Print what it takes to bring a node to a configuration, and return whether anything speaks against it.

    Raises:
        InputError: A file cannot be used, it has no such node or configuration, or what the node's cards are
            cut into does not show.
    """
    seen = _seen(paths)
    view = seen.node(node)
    now = shown_by(view, seen.dump.configs)
    if now is None or now not in seen.dump.configs:
        fix = "give the file with the configuration that it has now"
        raise InputError("what its cards are cut into does not show", where=f"--node {node}", fix=fix)
    board, cards = _board(view), cards_of(view)
    before, after = (card_layouts(seen.entries(name), cards, board) for name in (now, to))
    change = change_of(board, before, after, _offered(seen.dump, node))
    must_go = sorted(_in_the_way(seen, view, change))
    by_hand = edited((view.layout_config, to), seen.dump.configs)
    objections = [*change.objections, *by_hand, *unready(view)]
    if as_json:
        output.print_json(
            {
                "node": node,
                "from": now,
                "to": to,
                "cards": [
                    {"index": c.index, "from": c.before and dict(c.before), "to": c.after and dict(c.after)}
                    for c in change.cards
                ],
                "cleared": list(change.cleared),
                "must_go": must_go,
                "objections": objections,
            }
        )
        return bool(objections)
    lines = [str(card) for card in change.cards] or ["no card changes"]
    lines += [f"cleared on the way: cards {', '.join(map(str, change.cleared))}"] if change.cleared else []
    lines += [f"has to go first: {pod}" for pod in must_go]
    lines += [f"against it: {objection}" for objection in objections]
    show.console().print("\n".join(lines), soft_wrap=True)
    return bool(objections)


def _seen(paths: Sequence[Path]) -> _Seen:
    documents = [document for path in paths for document in objects_in(path)]
    with as_the_api_has_it(", ".join(map(str, paths))):
        dump = dump_of(documents)
        inventory = SliceReader().read(dump.of("ResourceSlice"))
        nodes = tuple(
            node_view(body, dump.configs, inventory.devices_of(key_of(body).name))[0]
            for body in dump.of("Node")
        )
    return _Seen(dump, inventory, nodes)


def _board(view: NodeView) -> Board:
    if view.board not in BOARDS:
        fix = "the layout of a board that is not known cannot be checked"
        raise InputError(f"product {view.product or '-'} is not known", where=f"--node {view.name}", fix=fix)
    return BOARDS[view.board]


def _offered(dump: Dump, node: str) -> frozenset[str] | None:
    """Return the profiles that a node itself says it offers, `None` where it says nothing."""
    for body in dump.of("ConfigMap"):
        if labels_of(body).get(_NODE_LABEL) == node:
            configs = dump_of([body]).configs.values()
            return frozenset(p for entries in configs for e in entries for p in e.get("mig-devices") or {})
    return None


def _in_the_way(seen: _Seen, view: NodeView, change: NodeChange) -> Iterator[str]:
    """Yield the pods that have to go first."""
    dump = seen.dump
    held = published_of(view.name, seen.inventory, dump.of("ResourceClaim")).held
    for tenant in understand(dump)["tenants"]:
        pod = next((p for p in dump.of("Pod") if _name(p) == tenant["pod"]), None)
        if pod is None or pod["spec"].get("nodeName") != view.name:
            continue
        if may_be_cleared(pod, view, change, held.get(tenant["pod"], frozenset())):
            yield tenant["pod"]


def _name(pod: Json) -> str:
    meta = pod["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}"


def _node_as_json(view: NodeView) -> Json:
    return {
        "node": view.name,
        "board": view.board or None,
        "configuration": view.layout_config or None,
        "state": view.layout_state,
        "cards": [
            {
                "index": card.index,
                "cut": None if card.is_whole else dict(card.counts),
                "placements": list(card.placements) if card.placements is not None else None,
                "free_compute_slices": card.free_compute_slices,
            }
            for card in view.layouts
        ],
    }


def _offer(offer: tuple[int, dict[str, int]]) -> Json:
    whole, instances = offer
    return {"whole": whole, "instances": instances}


def _said(offer: tuple[int, dict[str, int]]) -> str:
    whole, instances = offer
    return ", ".join([f"{whole} whole", *(f"{count} x {profile}" for profile, count in instances.items())])
