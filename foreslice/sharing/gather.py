"""What objects grant and what exporters measure, put together card by card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from actuator.inventory import holdings
from actuator.inventory.hami import allocation_finding
from actuator.inventory.nodes import node_view
from actuator.inventory.understand import Dump
from actuator.manifest import key_of
from actuator.objects.slices import SliceReader
from fleet.sharing import Shared, shared
from predictor import uses
from predictor.engines import Role, shipped
from predictor.inspection.devices import devices_of
from predictor.inspection.inspect import without_copies
from predictor.inspection.scrape import Exposed


@dataclass(frozen=True, slots=True)
class Sharing:
    """Every card, and what has to be known of what was read, one line each."""

    cards: tuple[Shared, ...]
    notes: tuple[str, ...]


def sharing_of(dump: Dump, series: Sequence[Exposed], notes: Sequence[str] = ()) -> Sharing:
    """Return who shares which card.

    What objects say of a grant counts before what exporters say of it; readings come from exporters alone.

    Args:
        dump: Objects of a cluster, none where it was not asked.
        series: Newest readings of exporters, none where nobody was asked.
        notes: What could not be read.
    """
    inventory = SliceReader().read(dump.of("ResourceSlice"))
    nodes = dump.of("Node")
    sliced = frozenset(view.name for node in nodes if (view := node_view(node, {})[0]).replicas > 1)
    config_maps = {(key_of(body).namespace, key_of(body).name): body for body in dump.of("ConfigMap")}
    held = holdings.holds_of(dump.of("Pod"), dump.of("ResourceClaim"), inventory, config_maps, sliced)
    exporters = [engine for engine in shipped().values() if engine.role in {Role.CARD, Role.TENANT}]
    told = devices_of(without_copies(series)[0], exporters)
    cards = shared(
        [*holdings.cards_of(inventory), *uses.cards_of(told.devices), *holdings.registered_cards(nodes)],
        [held, uses.holds_of(told.devices)],
        uses.uses_of(told.devices),
    )
    met = tuple(
        f"card {view.card.uuid} is shared by {' and '.join(view.mechanisms)}: one GPU, one mechanism"
        for view in cards
        if len(view.mechanisms) > 1
    )
    unread = tuple(
        f"{found.object}: {found.what}, so that a card holds more than is shown"
        for pod in dump.of("Pod")
        if (found := allocation_finding(pod)) is not None
    )
    return Sharing(cards, (*notes, *told.doubtful, *unread, *met))
