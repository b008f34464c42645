"""What allocated devices come to card by card: shares granted, room stranded, and what falls with a card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fleet.boards import Board
from fleet.cluster import Fleet, Standing
from fleet.devices import Device
from fleet.shape import SHARE_UNITS, Shape
from fleet.sharing import Card, Extent, Hold, Shared, shared

_GIB = 2.0**30


def hold_of(tenant: str, device: Device, board: Board, together: int = 1) -> Hold:
    """Return what the holder of a device has of its card: of an instance, its memory and compute slices.

    Slices are what room is reckoned in: a profile's gigabytes and multiprocessors leave a little out. A part
    of a card is granted the memory that its claim consumes, a time slice nothing. Of several that hold it
    together none has it alone.
    """
    if device.profile is None:
        extent = Extent.CARD if together == 1 else Extent.SHARE
        return Hold(tenant, device.gpu, "dra", board.memory_gib * _GIB, 1.0, 1.0, extent, together)
    if device.part_of:
        part = Shape(board.id, device.profile).hundredths / SHARE_UNITS
        return Hold(tenant, device.gpu, "dra-shares", memory_share=part, together=together)
    if device.kind == "share":
        return Hold(tenant, device.gpu, "time-slicing", together=together)
    profile = board.profile(device.profile)
    return Hold(
        tenant=tenant,
        card=device.gpu,
        mechanism="dra",
        memory_bytes=profile.memory_gib * _GIB,
        memory_share=profile.memory_slices / board.grid,
        compute_share=profile.compute_slices / board.compute_slices,
        extent=Extent.INSTANCE if together == 1 else Extent.SHARE,
        together=together,
    )


def cards_in(fleet: Fleet) -> tuple[Shared, ...]:
    """Return every card of the fleet with its tenants; one that is not ours goes by its device's name."""
    boards = {gpu.uuid: gpu.board for gpu in fleet.gpus}
    pods = {device.id: pod for standing in fleet.standings for pod, device in _devices(standing)}
    holds = (
        hold_of(pods.get(device.id, f"foreign {device.name}"), device, boards[device.gpu])
        for device in fleet.allocated
        if device.gpu in boards
    )
    cards = (Card(gpu.uuid, gpu.node, gpu.board.id, gpu.board.memory_gib * _GIB) for gpu in fleet.gpus)
    return shared(cards, [holds], ())


def blast_radius(standing: Standing) -> float | None:
    """Return the largest part of a workload's ready replicas that one card takes along, `None` without."""
    on: Counter[str] = Counter(
        replica.device.gpu
        for variant in standing.variants
        for replica in variant.replicas
        if replica.is_ready and replica.device is not None
    )
    return max(on.values()) / on.total() if on else None


def _devices(standing: Standing) -> Iterator[tuple[str, Device]]:
    for variant in standing.variants:
        for replica in variant.replicas:
            if replica.device is not None:
                yield f"{standing.key.namespace}/{replica.pod}", replica.device
