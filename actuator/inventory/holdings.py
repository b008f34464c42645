"""What each pod holds of each card in numbers: memory and compute, as its mechanism grants them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from actuator.inventory import hami, kai
from actuator.inventory.tenants import Tenant, claims_by_pod, tenants_of
from actuator.manifest import Json, key_of
from actuator.objects.allocations import allocated_ids, results_of
from actuator.objects.slices import Inventory
from actuator.quantity import amount
from fleet.occupancy import hold_of
from fleet.sharing import Card, Extent, Hold

_GIB, _MIB = 2.0**30, 2.0**20
_ANY = ("",)
"""Where objects do not say which card it is."""


def cards_of(inventory: Inventory) -> Iterator[Card]:
    """Yield the cards that NVIDIA's DRA driver publishes."""
    for gpu in inventory.gpus:
        yield Card(gpu.uuid, gpu.node, gpu.board.id, gpu.board.memory_gib * _GIB)


def registered_cards(nodes: Iterable[Json]) -> Iterator[Card]:
    """Yield the cards that nodes register with HAMi, whose memory may be scaled beyond what they have."""
    for node in nodes:
        for card in hami.registered(node) or ():
            yield Card(card.uuid, node["metadata"]["name"], "", card.total_mib * _MIB)


def holds_of(
    pods: Sequence[Json],
    claims: Sequence[Json],
    inventory: Inventory,
    config_maps: Mapping[tuple[str, str], Json],
    sliced: frozenset[str],
) -> Iterator[Hold]:
    """Yield what every pod holds; the card is empty where objects do not say which it is.

    Args:
        pods: Every pod.
        claims: Every ResourceClaim, in the shape of v1.
        inventory: What the DRA driver publishes.
        config_maps: ConfigMaps by namespace and name: KAI says there what it gave.
        sliced: Names of nodes whose cards are time-sliced.
    """
    claimed = claims_by_pod(claims)
    by_pod = {str(key_of(pod)): pod for pod in pods}
    for tenant in tenants_of(pods, claims, inventory.devices(), config_maps, sliced):
        pod = by_pod[tenant.pod]
        match tenant.mechanism:
            case "dra" | "dra-shares":
                yield from _of_claims(tenant, claimed[tenant.pod], inventory)
            case "kai":
                given = kai.given(pod, config_maps)
                portion = given[0] if given is not None else None
                yield from (Hold(tenant.pod, gpu, "kai", memory_share=portion) for gpu in tenant.gpus or _ANY)
            case "hami":
                yield from _of_hami(tenant.pod, pod)
            case "device-plugin":
                yield from _of_resources(tenant)
            case other:
                yield from (Hold(tenant.pod, gpu, other) for gpu in tenant.gpus or _ANY)


def _of_claims(tenant: Tenant, claims: Iterable[Json], inventory: Inventory) -> Iterator[Hold]:
    devices, gpus = inventory.devices(), inventory.gpu_by_uuid()
    for result, together in _taken(claims):
        device = devices.get((result["pool"], result["device"]))
        if device is None or device.gpu not in gpus:
            continue
        if tenant.mechanism == "dra":
            yield hold_of(tenant.pod, device, gpus[device.gpu].board, together)
            continue
        consumed = (result.get("consumedCapacity") or {}).get("memory", "0")
        memory = amount(consumed) or None  # a share of no memory has no bound
        yield Hold(tenant.pod, device.gpu, tenant.mechanism, memory, together=together)


def _taken(claims: Iterable[Json]) -> Iterator[tuple[Json, int]]:
    """Yield what the driver allocated to claims, and by how many pods each is used."""
    for claim in claims:
        ids = allocated_ids(claim)
        for result in results_of(claim):
            if (result["pool"], result["device"]) in ids:
                yield result, len(claim["status"]["reservedFor"])


def _of_resources(tenant: Tenant) -> Iterator[Hold]:
    """Yield whole cards or MIG devices of the device plugin, which says neither which nor how large."""
    extent = Extent.INSTANCE if "mig-" in tenant.holds else Extent.CARD
    share = 1.0 if extent is Extent.CARD else None
    for gpu in tenant.gpus or _ANY:
        yield Hold(tenant.pod, gpu, tenant.mechanism, None, share, share, extent)


def _of_hami(name: str, pod: Json) -> Iterator[Hold]:
    """Yield what HAMi allocated on each card; compute without a bound is not granted."""
    for uuid, (mib, cores) in hami.held_by(pod).items():
        yield Hold(name, uuid, "hami", mib * _MIB, compute_share=cores / 100 or None)
