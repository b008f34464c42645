"""Feature gates of NVIDIA's DRA driver: which shut each other out, and which need another.

Source: kubernetes-sigs/dra-driver-nvidia-gpu, pkg/featuregates/featuregates.go, and its documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

EXCLUSIVE = (
    ("DynamicMIG", "MPSSupport"),
    ("DynamicMIG", "NVMLDeviceHealthCheck"),
    ("DynamicMIG", "PassthroughSupport"),
    ("PassthroughSupport", "NVMLDeviceHealthCheck"),
    ("MPSSupport", "NVMLDeviceHealthCheck"),
)
NEEDED = {"ComputeDomainCliques": "IMEXDaemonsWithDNSNames", "DeviceMetadata": "PassthroughSupport"}
"""Gates that do nothing without another."""

ON_BY_DEFAULT = frozenset({"IMEXDaemonsWithDNSNames", "ComputeDomainCliques", "CrashOnNVLinkFabricErrors"})


def is_on(gate: str, gates: Mapping[str, bool]) -> bool:
    """Return whether a gate is on, as set or by default."""
    return gates.get(gate, gate in ON_BY_DEFAULT)


def clashes(gates: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Return the pairs of gates that are on and shut each other out."""
    return ((one, other) for one, other in EXCLUSIVE if is_on(one, gates) and is_on(other, gates))


def lacking(gates: Mapping[str, bool]) -> Iterator[tuple[str, str]]:
    """Return the gates that are on and need another that is off."""
    return ((gate, need) for gate, need in NEEDED.items() if is_on(gate, gates) and not is_on(need, gates))


def parse(text: str) -> dict[str, bool]:
    """Return gates as a flag or variable names them: `DynamicMIG=true,MPSSupport=false`."""
    pairs = (pair.partition("=") for pair in text.split(",") if "=" in pair)
    return {gate.strip(): state.strip().lower() == "true" for gate, _, state in pairs}
