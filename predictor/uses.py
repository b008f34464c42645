"""What exporters say of cards and their tenants, as `fleet.sharing` takes it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fleet.sharing import Card, Extent, Hold, Use
from fleet.signal import Signal
from predictor.engines import Role
from predictor.inspection.devices import Device

_MECHANISMS = {"hami": "hami", "kai-gpu-fractioning": "kai"}
"""By which mechanism an exporter's tenants share, where the objects of the cluster do not say."""


def uses_of(devices: Iterable[Device]) -> Iterator[Use]:
    """Yield what was measured, of a device or of a tenant's share of it."""
    for device in devices:
        memory, compute = (_value(device, signal) for signal in (Signal.GPU_MEMORY_USED, Signal.GPU_USE))
        if memory is not None or compute is not None:
            yield Use(
                card=device.card,
                instance=device.slice,
                tenants=device.tenants,
                is_share=device.exporter.role is Role.TENANT,
                memory_bytes=memory,
                compute=compute,
                source=device.exporter.title,
            )


def holds_of(devices: Iterable[Device]) -> Iterator[Hold]:
    """Yield what exporters know of grants: a tenant's limits, and the size of an instance that one pod has.

    Which pods are on a card without instances does not say what they hold of it.
    """
    for device in devices:
        if len(device.tenants) != 1:
            continue
        if device.exporter.role is Role.TENANT:
            memory = _value(device, Signal.GPU_MEMORY_GRANTED)
            compute = _value(device, Signal.GPU_COMPUTE_GRANTED) or None  # 0: its compute has no bound
            mechanism = _MECHANISMS.get(device.exporter.name, "")
            yield Hold(device.tenants[0], device.card, mechanism, memory, compute_share=compute)
        elif device.slice:
            yield Hold(device.tenants[0], device.card, "", _memory(device), extent=Extent.INSTANCE)


def cards_of(devices: Sequence[Device]) -> Iterator[Card]:
    """Yield the cards that exporters name; the memory of one is what is used and free of it as a whole."""
    for device in devices:
        if device.exporter.role is Role.CARD:
            yield Card(device.card, device.node, "", None if device.slice else _memory(device))


def _memory(device: Device) -> float | None:
    parts = [_value(device, signal) for signal in (Signal.GPU_MEMORY_USED, Signal.GPU_MEMORY_FREE)]
    return sum(part for part in parts if part is not None) if None not in parts else None


def _value(device: Device, signal: Signal) -> float | None:
    reading = device.signals.get(signal)
    return None if reading is None else reading.value
