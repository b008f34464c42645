"""What the driver says of each whole card: size, compute capability, driver version.

Versions are semantic versions: compared as text, 10.0.0 would come before 9.0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from actuator.manifest import Json
from actuator.objects.slices import text_of
from actuator.quantity import amount


@dataclass(frozen=True, slots=True)
class CardFacts:
    """One whole card as published.

    Attributes:
        node: Node.
        name: Device name.
        uuid: UUID.
        product: Product name.
        memory_bytes: Memory.
        compute_capability: CUDA compute capability, e.g. (9, 0).
        driver: Driver version, e.g. (580, 95, 5).
    """

    node: str
    name: str
    uuid: str
    product: str
    memory_bytes: int
    compute_capability: tuple[int, ...]
    driver: tuple[int, ...]


def card_facts(slices: Iterable[Json]) -> Iterator[CardFacts]:
    """Yield what slices of v1 say of whole cards; attributes that a driver leaves out are empty."""
    for body in slices:
        for device in body["spec"].get("devices") or []:
            attributes: Json = device.get("attributes") or {}
            if text_of(device, "type") == "gpu":
                memory = ((device.get("capacity") or {}).get("memory") or {}).get("value", "0")
                yield CardFacts(
                    node=body["spec"].get("nodeName", ""),
                    name=device["name"],
                    uuid=text_of(device, "uuid"),
                    product=text_of(device, "productName"),
                    memory_bytes=amount(memory),
                    compute_capability=_version(attributes, "cudaComputeCapability")[:2],
                    driver=_version(attributes, "driverVersion"),
                )


def _version(attributes: Json, name: str) -> tuple[int, ...]:
    text = str((attributes.get(name) or {}).get("version", ""))
    return tuple(int(part) for part in text.split("-", 1)[0].split(".") if part.isdecimal())
