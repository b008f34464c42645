"""How full each shared card is, by the ledger of the mechanism that shares it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from actuator.inventory import hami, kai
from actuator.inventory.findings import Finding, error
from actuator.inventory.nodes import NodeView
from actuator.manifest import Json, key_of
from actuator.mechanisms.device_plugin import GPU, SHARED_GPU
from actuator.mechanisms.dra import DRIVER
from actuator.objects.allocations import results_of
from actuator.objects.pods import is_over
from actuator.objects.slices import shared_device
from actuator.quantity import amount
from fleet.ledgers.time_slicing import SlicedNode
from fleet.shape import SHARE_UNITS


@dataclass(frozen=True, slots=True)
class CardUse:
    """One amount of one shared card.

    Attributes:
        mechanism: Which shares it, a key of the mechanism table.
        node: Node.
        card: UUID, or GPU group, device or node where no UUID is known.
        unit: What is counted: MiB, hundredths, replicas, or the name of a capacity.
        total: How much there is.
        used: How much tenants hold.
        tenants: Pods or claims on it.
    """

    mechanism: str
    node: str
    card: str
    unit: str
    total: int
    used: int
    tenants: int


def hami_use(nodes: Iterable[Json], pods: Sequence[Json]) -> Iterator[CardUse]:
    """Yield the cards that nodes register with HAMi, with what its pods hold of them."""
    held: defaultdict[str, list[int]] = defaultdict(list)
    for pod in pods:
        if not is_over(pod):
            for uuid, (mib, _) in hami.held_by(pod).items():
                held[uuid].append(mib)
    for node in nodes:
        for card in hami.registered(node) or ():
            amounts = held[card.uuid]
            yield CardUse(
                "hami", node["metadata"]["name"], card.uuid, "MiB", card.total_mib, sum(amounts), len(amounts)
            )


def kai_use(
    groups: Iterable[kai.Group], pods: Iterable[Json], config_maps: Mapping[tuple[str, str], Json]
) -> Iterator[CardUse]:
    """Yield the cards that KAI shares, with what their tenants were given; hundredths of a card."""
    portions: dict[str, float] = {}
    for pod in pods:
        was_given = kai.given(pod, config_maps)
        share, _ = kai.share_asked(pod)
        asked = share.portion if share is not None else 0.0
        portions[str(key_of(pod))] = was_given[0] if was_given is not None else asked
    for group in groups:
        used = round(SHARE_UNITS * sum(portions[tenant] for tenant in group.tenants))
        card = group.devices[0] if len(group.devices) == 1 else f"group {group.name}"
        yield CardUse("kai", group.node, card, "hundredths", SHARE_UNITS, used, len(group.tenants))


def dra_use(slices: Iterable[Json], claims: Sequence[Json]) -> Iterator[CardUse]:
    """Yield the capacities of devices that several claims share, with what claims consume of them."""
    taken = _consumed(claims)
    for body in slices:
        spec: Json = body["spec"]
        for published in spec.get("devices") or []:
            if spec["driver"] == DRIVER and published.get("allowMultipleAllocations"):
                consumed = taken[spec["pool"]["name"], published["name"]]
                device = shared_device(published)
                for name, capacity in device.capacities.items():
                    amounts = [held.get(name, 0) for held in consumed]
                    yield CardUse(
                        "dra-shares",
                        spec.get("nodeName", ""),
                        published["name"],
                        name,
                        capacity.value,
                        sum(amounts),
                        len(amounts),
                    )


def sliced_use(nodes: Iterable[NodeView], pods: Sequence[Json]) -> Iterator[CardUse]:
    """Yield the nodes whose cards are time-sliced, with the replicas that pods there hold."""
    for node in nodes:
        if node.replicas > 1:
            here = [pod for pod in pods if (pod.get("spec") or {}).get("nodeName") == node.name]
            held = [count for pod in here if not is_over(pod) and (count := _replicas_of(pod))]
            sliced = SlicedNode(node.whole_gpus, node.replicas, sum(held))
            yield CardUse(
                "time-slicing",
                node.name,
                f"node {node.name}",
                "replicas",
                sliced.offered,
                sliced.used,
                len(held),
            )


def _replicas_of(pod: Json) -> int:
    limits = [(c.get("resources") or {}).get("limits") or {} for c in pod["spec"].get("containers") or []]
    return sum(amount(held[name]) for held in limits for name in (GPU, SHARED_GPU) if name in held)


def _consumed(claims: Iterable[Json]) -> defaultdict[tuple[str, str], list[dict[str, int]]]:
    found: defaultdict[tuple[str, str], list[dict[str, int]]] = defaultdict(list)
    for claim in claims:
        for result in results_of(claim):
            if "consumedCapacity" in result:
                amounts = {name: amount(held) for name, held in result["consumedCapacity"].items()}
                found[result["pool"], result["device"]].append(amounts)
    return found


def overcommitted(uses: Iterable[CardUse]) -> list[Finding]:
    """Return the cards of which tenants hold more than there is."""
    return [
        error(
            "overcommitted",
            f"card {use.card}",
            f"{use.mechanism} has given out {use.used} of {use.total} {use.unit}",
            "place nothing more there and move the newest tenant; see whether a running pod was changed",
        )
        for use in uses
        if use.used > use.total
    ]
