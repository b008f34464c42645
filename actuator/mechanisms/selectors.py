"""Selectors of device requests: the CEL that says by itself what is asked for.

Only conjunctions of the clauses below do. An attribute that a device lacks is an error that ends the
scheduling of the pod (kubernetes dynamic-resource-allocation/cel, v1.37: "no such key"), so what not every
device of a class has must be guarded by a clause that asks whether it is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from actuator.quantity import amount
from fleet.devices import Bound, DeviceRequest
from fleet.errors import RefusedError

_DEVICE = r"""device\.{field}\[['"]gpu\.nvidia\.com['"]\]"""
_ATTRIBUTES = _DEVICE.format(field="attributes")
_CAPACITY = _DEVICE.format(field="capacity") + r"\.(?P<capacity>memory|multiprocessors)"
_QUANTITY = r"""quantity\(['"](?P<amount>[^'"]+)['"]\)"""
_GUARD = rf"""['"]\w+['"] in (?:{_ATTRIBUTES}|{_DEVICE.format(field="capacity")})"""
_ATTRIBUTE = rf"{_ATTRIBUTES}\.(?P<attribute>profile|productName|architecture)"
_EQUALS = re.compile(rf"""{_ATTRIBUTE} == ['"](?P<text>[^'"]+)['"]""")
_AMONG = re.compile(rf"{_ATTRIBUTE} in \[(?P<texts>[^\]]*)\]")
_COMPARED = re.compile(rf"{_CAPACITY}\.compareTo\({_QUANTITY}\) (?P<operator>>=|>|==|<|<=) 0")
_BEYOND = re.compile(rf"{_CAPACITY}\.is(?P<beyond>Greater|Less)Than\({_QUANTITY}\)")
_BEYONDS = {"Greater": ">", "Less": "<"}
SHARED = "device.allowMultipleAllocations"
"""CEL that asks for devices that take several claims (KEP-5075)."""

_SHARED = re.compile(rf"{re.escape(SHARED)}(?: == true)?")
_PLAIN = re.compile(rf"{_GUARD}|{_SHARED.pattern}")
_TEXT = re.compile(r"""['"]([^'"]+)['"]""")


def request_asked(kind: str, expressions: Iterable[str]) -> DeviceRequest:
    """Return what selectors ask of devices of a kind.

    `RefusedError` for a clause of which that cannot be told, for one that no device can meet along with the
    others, and for one that would break off the scheduling of the pod.
    """
    asked: dict[str, tuple[str, ...]] = {}
    bounds: list[Bound] = []
    must_share = False
    for expression in expressions:
        for clause in expression.split("&&"):
            text = clause.strip()
            must_share |= _SHARED.fullmatch(text) is not None
            if match := _COMPARED.fullmatch(text):
                bounds.append(Bound(match["capacity"], match["operator"], named_amount(match["amount"])))
            elif match := _BEYOND.fullmatch(text):
                bounds.append(
                    Bound(match["capacity"], _BEYONDS[match["beyond"]], named_amount(match["amount"]))
                )
            elif match := _EQUALS.fullmatch(text) or _AMONG.fullmatch(text):
                name = match["attribute"]
                texts = (match["text"],) if match.re is _EQUALS else tuple(_TEXT.findall(match["texts"]))
                asked[name] = tuple(one for one in texts if one in asked.get(name, texts))
                if not asked[name]:
                    raise RefusedError(f"the selectors ask for several values of {name} at once: {text}")
            elif not _PLAIN.fullmatch(text):
                raise RefusedError(f"cannot tell which shape the selector asks for: {text}")
    profiles = asked.get("profile", ())
    if profiles and kind != "mig":
        raise RefusedError(
            "the selector asks a whole card for its profile, which it has not: no pod is placed"
        )
    if len(profiles) > 1:
        raise RefusedError(f"the claim takes any of {', '.join(profiles)}: select one profile")
    return DeviceRequest(
        kind,
        profiles[0] if profiles else None,
        asked.get("productName", ()),
        asked.get("architecture", ()),
        tuple(bounds),
        must_share=must_share,
    )


def guarded(attribute: str, texts: tuple[str, ...], *, is_one: bool = False) -> str:
    """Return CEL that asks for one of these values of an attribute, and only where there is one."""
    attributes = "device.attributes['gpu.nvidia.com']"
    quoted = [f"'{text}'" for text in texts]
    value = f"== {quoted[0]}" if is_one else f"in [{', '.join(quoted)}]"
    return f"'{attribute}' in {attributes} && {attributes}.{attribute} {value}"


def named_amount(quantity: str | float) -> int:
    """Return a quantity as a whole number; `RefusedError` if it is none."""
    try:
        return amount(quantity)
    except ValueError as error:
        raise RefusedError(f"the claim names no quantity: {quantity}") from error
