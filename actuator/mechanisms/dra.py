"""Mechanism `dra`: a shape as a ResourceClaimTemplate of NVIDIA's driver, and back.

Claim and template specs are immutable, so a template is named after its content and never changed.
What a claim asks for is read from its spec, never from labels or annotations, which anyone may write.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from actuator.manifest import MANAGED_BY, Json, digest_of, dns_label
from fleet.boards import Board
from fleet.devices import DeviceRequest
from fleet.errors import RefusedError
from fleet.shape import Shape

DRIVER = "gpu.nvidia.com"
KIND_BY_CLASS = {"gpu.nvidia.com": "gpu", "mig.nvidia.com": "mig"}
"""Device classes of the driver's chart, and the `type` attribute of what they select."""

# Selectors are CEL. Only conjunctions of these clauses say by themselves which shape is asked for; an
# attribute that a device lacks aborts scheduling of the pod, hence the guards that we write.
_ATTRIBUTES = r"""device\.attributes\[['"]gpu\.nvidia\.com['"]\]"""
_TEXT = r"""['"](?P<text>[^'"]+)['"]"""
_GUARD = re.compile(rf"""['"]\w+['"] in {_ATTRIBUTES}""")
_EQUALS = re.compile(rf"{_ATTRIBUTES}\.(?P<attribute>profile|productName) == {_TEXT}")
_AMONG = re.compile(rf"{_ATTRIBUTES}\.(?P<attribute>productName) in \[(?P<texts>[^\]]*)\]")


@dataclass(frozen=True, slots=True)
class Ask:
    """The one device that a claim asks for.

    Attributes:
        name: Name of the request; containers and constraints refer to it.
        request: What is asked for.
        tolerations: Device taints that it tolerates, as in the spec.
    """

    name: str
    request: DeviceRequest
    tolerations: tuple[Json, ...] = ()


def request_of(board: Board, shape: Shape) -> DeviceRequest:
    """Return what a replica of `shape` asks of DRA; the products keep other boards out.

    `RefusedError` for a shape that one device of the driver is not: several cards, or a share of one.
    """
    if shape.cards > 1 or shape.hundredths:
        raise RefusedError(f"no claim is written for {shape}: it is not one device")
    if shape.is_whole:
        return DeviceRequest("gpu", None, board.product_names)
    return DeviceRequest("mig", shape.profile, board.product_names)


def claim_template(namespace: str, board: Board, shape: Shape, like: Ask) -> Json:
    """Return the ResourceClaimTemplate of a shape, asking under the name and tolerations of `like`."""
    request = request_of(board, shape)
    clauses = [f"'productName' in {_attributes()} && {_attributes()}.productName in {_cel(request.products)}"]
    if request.profile is not None:
        clauses.insert(0, f"'profile' in {_attributes()} && {_attributes()}.profile == '{request.profile}'")
    exactly: Json = {
        "deviceClassName": next(name for name, kind in KIND_BY_CLASS.items() if kind == request.kind),
        "selectors": [{"cel": {"expression": clause}} for clause in clauses],
        "allocationMode": "ExactCount",
        "count": 1,
    }
    if like.tolerations:
        exactly["tolerations"] = list(like.tolerations)
    spec: Json = {"spec": {"devices": {"requests": [{"name": like.name, "exactly": exactly}]}}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": dns_label(f"foreslice-{shape.board}-{shape.profile}-{digest_of(spec)}"),
            "namespace": namespace,
            "labels": dict(MANAGED_BY),
        },
        "spec": spec,
    }


def asks_gpu(claim_spec: Json) -> bool:
    """Return whether a claim spec asks for anything of NVIDIA's GPU classes."""
    return any(
        part.get("deviceClassName") in KIND_BY_CLASS
        for request in _requests(claim_spec)
        for part in (request.get("exactly") or {}, *(request.get("firstAvailable") or []))
    )


def ask_of(claim_spec: Json) -> Ask:
    """Return what a claim spec asks for; `RefusedError` where it is not one whole card or one profile.

    Args:
        claim_spec: `spec` of a ResourceClaim, `spec.spec` of a ResourceClaimTemplate.
    """
    requests = _requests(claim_spec)
    devices: Json = claim_spec.get("devices") or {}
    exactly: Json = (requests[0].get("exactly") or {}) if requests else {}
    if len(requests) != 1 or not exactly:
        raise RefusedError("the claim must make exactly one request, without alternatives")
    if exactly.get("deviceClassName") not in KIND_BY_CLASS:
        raise RefusedError(f"the claim asks for device class {exactly.get('deviceClassName')}, not for a GPU")
    if exactly.get("allocationMode", "ExactCount") != "ExactCount" or exactly.get("count", 1) != 1:
        raise RefusedError("the claim must ask for exactly one device")
    for name in ("capacity", "adminAccess"):
        if exactly.get(name):
            raise RefusedError(f"the claim uses {name}, which is no whole device of its own")
    if devices.get("config"):
        raise RefusedError("the claim carries driver config, which may not suit another shape")
    return Ask(
        requests[0]["name"],
        _request(KIND_BY_CLASS[exactly["deviceClassName"]], exactly.get("selectors") or []),
        tuple(exactly.get("tolerations") or ()),
    )


def shape_asked(request: DeviceRequest, boards: Iterable[Board]) -> Shape:
    """Return the shape that a request names among the fleet's boards; `RefusedError` if not exactly one."""
    asked = f"profile {request.profile}" if request.profile else f"any {request.kind} device"
    if request.kind == "mig" and request.profile is None:
        raise RefusedError("the claim takes any MIG device: select a profile")
    offering = [
        board
        for board in boards
        if (not request.products or set(request.products) & set(board.product_names))
        and (request.profile is None or any(profile.name == request.profile for profile in board.profiles))
    ]
    if not offering:
        raise RefusedError(f"the claim asks for {asked}, which no card of the fleet offers")
    if len(offering) > 1:
        names = " and ".join(sorted(board.id for board in offering))
        raise RefusedError(f"the claim asks for {asked} of {names} alike: select a productName")
    return Shape(offering[0].id, request.profile) if request.profile else Shape(offering[0].id)


def _requests(claim_spec: Json) -> list[Json]:
    devices: Json = claim_spec.get("devices") or {}
    return devices.get("requests") or []


def _request(kind: str, selectors: Sequence[Json]) -> DeviceRequest:
    profile: str | None = None
    products: tuple[str, ...] = ()
    for selector in selectors:
        for clause in selector["cel"]["expression"].split("&&"):
            attribute, texts = _clause(clause.strip())
            if attribute == "profile":
                profile = texts[0]
            elif attribute == "productName":
                products = texts
    return DeviceRequest(kind, profile, products)


def _clause(clause: str) -> tuple[str | None, tuple[str, ...]]:
    if _GUARD.fullmatch(clause):
        return None, ()
    if match := _EQUALS.fullmatch(clause):
        return match["attribute"], (match["text"],)
    if match := _AMONG.fullmatch(clause):
        return match["attribute"], tuple(re.findall(r"""['"]([^'"]+)['"]""", match["texts"]))
    raise RefusedError(f"cannot tell which shape the selector asks for: {clause}")


def _attributes() -> str:
    return f"device.attributes['{DRIVER}']"


def _cel(texts: Iterable[str]) -> str:
    return "[" + ", ".join(f"'{text}'" for text in texts) + "]"
