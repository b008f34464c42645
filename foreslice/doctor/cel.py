"""Selectors of devices: CEL expressions over what NVIDIA's DRA driver publishes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from foreslice.doctor.sheet import Sheet, nearest

DRIVER = "gpu.nvidia.com"

# kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/deviceinfo.go
ATTRIBUTES = (
    "type",
    "uuid",
    "parentUUID",
    "profile",
    "productName",
    "brand",
    "architecture",
    "cudaComputeCapability",
    "driverVersion",
    "cudaDriverVersion",
    "addressingMode",
)
CAPACITIES = (
    "memory",
    "multiprocessors",
    "copyEngines",
    "decoders",
    "encoders",
    "jpegEngines",
    "ofaEngines",
    "shares",
)
_MEANT = {
    "partitionSize": "profile",
    "partition": "profile",
    "migProfile": "profile",
    "mig_profile": "profile",
    "model": "productName",
    "product": "productName",
    "gpuName": "productName",
    "memoryBytes": "memory",
    "vram": "memory",
}
"""Names that articles and other drivers use for what the driver publishes under another."""

_REFERENCE = re.compile(
    r"""device\.(?P<kind>attributes|capacity)\[\s*(?P<quote>["']?)(?P<domain>[^"'\]]+?)(?P=quote)\s*\]\.(?P<name>\w+)
    (?:\s*(?P<operator>==|!=|>=|<=|>|<)\s*|\s+(?=["'\d]))?
    (?P<literal>"[^"]*"|'[^']*'|[\d][\w.+]*)?""",
    re.VERBOSE,
)
_QUANTITY = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGT]i?B?|B)?", re.IGNORECASE)
_MEGA = 1000
"""A bare number from here on is taken as megabytes, below as gigabytes: no card has 1,000 GB."""
_BYTES = 10**8


@dataclass(frozen=True, slots=True)
class _Reference:
    """One attribute or capacity in an expression, with what it is compared with."""

    kind: str
    domain: str
    name: str
    operator: str
    literal: str

    def __str__(self) -> str:
        start = f"device.{self.kind}['{self.domain}'].{self.name}"
        if not self.literal:
            return start + (f" {self.operator} " if self.operator else "")
        if self.kind == "capacity":
            return f"{start}.compareTo(quantity('{self.literal}')) {self.operator} 0"
        return f"{start} {self.operator} {self.literal}"


def corrected(expression: str, sheet: Sheet, path: str) -> str:
    """Return a selector in CEL that the API takes and that means what was meant; faults go to the sheet.

    Only comparisons with what NVIDIA's driver publishes are looked at; everything else stays as written.
    """

    def mend(found: re.Match[str]) -> str:
        return _mended(found, sheet, path)

    return _REFERENCE.sub(mend, expression.strip())


def _mended(found: re.Match[str], sheet: Sheet, path: str) -> str:
    reference = _Reference(
        found["kind"], found["domain"], found["name"], found["operator"] or "", found["literal"] or ""
    )
    if not found["quote"]:
        what = f"the domain {reference.domain} has no quotes"
        sheet.fault("cel-domain", path, what, f"write device.{reference.kind}['{reference.domain}']")
    reference = _named(reference, sheet, path)
    if reference.literal and not reference.operator:
        operator = ">" if reference.kind == "capacity" or reference.name in CAPACITIES else "=="
        sheet.fault("cel-operator", path, f"{reference.name} is compared with nothing", f"write {operator}")
        reference = replace(reference, operator=operator)
    if reference.name in CAPACITIES and reference.domain == DRIVER:
        return _capacity(reference, found, sheet, path)
    return str(_text(reference, sheet, path))


def _named(reference: _Reference, sheet: Sheet, path: str) -> _Reference:
    """Return the reference under the name that the driver publishes."""
    if reference.domain != DRIVER or reference.name in {*ATTRIBUTES, *CAPACITIES}:
        return reference
    name = _MEANT.get(reference.name) or nearest(reference.name, [*ATTRIBUTES, *CAPACITIES])
    if name is None:
        fix = f"use one of {', '.join(ATTRIBUTES)}, or a capacity: {', '.join(CAPACITIES)}"
        sheet.fault("cel-name", path, f"no device of {DRIVER} has {reference.name}", fix)
        return reference
    sheet.fault("cel-name", path, f"no device of {DRIVER} has {reference.name}", f"use {name}")
    return replace(reference, name=name)


def _capacity(reference: _Reference, found: re.Match[str], sheet: Sheet, path: str) -> str:
    if reference.kind == "attributes":
        what = f"{reference.name} is a capacity, not an attribute"
        sheet.fault("cel-capacity", path, what, f"use device.capacity['{DRIVER}'].{reference.name}")
        reference = replace(reference, kind="capacity")
    if reference.literal:
        amount = _quantity(reference)
        what = f"a capacity is a quantity: {reference.operator} does not compare it with {reference.literal}"
        fix = f"use compareTo(quantity('{amount}')) {reference.operator} 0"
        sheet.fault("cel-quantity", path, what, fix)
        return str(replace(reference, literal=amount))
    rest = found.string[found.end() :]
    if reference.operator and not rest.lstrip().startswith(("quantity", "device")):
        what = f"a capacity is a quantity: {reference.operator} does not compare it"
        sheet.fault("cel-quantity", path, what, "use compareTo(quantity('...'))")
    return str(reference)


def _quantity(reference: _Reference) -> str:
    """Return an amount as Kubernetes writes it; cards are sized in GiB, so bare numbers are taken so, too."""
    text = reference.literal.strip("\"'")
    read = _QUANTITY.fullmatch(text)
    if read is None or reference.name != "memory":
        return text
    number, unit = float(read["number"]), (read["unit"] or "").removesuffix("B").removesuffix("b")
    if unit:
        return f"{number:g}{unit if unit.endswith('i') else unit.upper() + 'i'}"
    return f"{number:.0f}" if number >= _BYTES else _of_card(number)


def _of_card(number: float) -> str:
    """Return the memory of a card that is written without a unit: in gigabytes, or in megabytes."""
    if number < _MEGA:
        return f"{number:g}Gi"
    base = next((base for base in (1000, 1024) if number % base == 0), None)
    return f"{number / base:g}Gi" if base else f"{number:g}Mi"


def _text(reference: _Reference, sheet: Sheet, path: str) -> _Reference:
    """Return the reference with the text that it is compared with in quotes."""
    literal = reference.literal
    if literal and literal[0] not in "\"'" and reference.name in ATTRIBUTES:
        sheet.fault("cel-text", path, f"{literal} has no quotes", f"write '{literal}'")
        literal = f"'{literal}'"
    if reference.name == "profile" and literal != literal.lower():
        sheet.fault("cel-profile", path, f"no profile is called {literal}", f"write {literal.lower()}")
        literal = literal.lower()
    if literal.startswith('"'):
        literal = f"'{literal[1:-1]}'"
    return replace(reference, literal=literal)


def quantities(expression: str, capacity: str) -> list[str]:
    """Return the amounts that a corrected selector wants a capacity to have at least."""
    at_least = (
        rf"device\.capacity\['{re.escape(DRIVER)}'\]\.{capacity}\.compareTo\(quantity\('([^']+)'\)\) >=? 0"
    )
    return re.findall(at_least, expression)
