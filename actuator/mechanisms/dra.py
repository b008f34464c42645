"""Mechanism `dra`: a shape as a ResourceClaimTemplate of NVIDIA's driver, and back.

Claim and template specs are immutable, so a template is named after its content and never changed.
What a claim asks for is read from its spec, never from labels or annotations, which anyone may write.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from actuator.manifest import MANAGED_BY, Json, digest_of, dns_label
from actuator.mechanisms.selectors import SHARED, guarded, named_amount, request_asked
from fleet.boards import Board
from fleet.devices import Device, DeviceRequest
from fleet.errors import RefusedError
from fleet.ledgers.consumable import SharedDevice
from fleet.shape import SHARE_SIZES, SHARE_UNITS, WHOLE, Shape

DRIVER = "gpu.nvidia.com"
SHARES = "dra-shares"
"""The mechanism by which claims consume parts of cards; whole cards and instances are `dra` to all alike."""

KIND_BY_CLASS = {"gpu.nvidia.com": "gpu", "mig.nvidia.com": "mig"}
"""Device classes of the driver's chart, and the `type` attribute of what they select."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What a claim asks for: one device, or several whole cards.

    Attributes:
        name: Name of the request; containers and constraints refer to it.
        request: What is asked for; of alternatives (`firstAvailable`) what is taken where it can be had.
        tolerations: Device taints that it tolerates, as in the spec.
        others: What else is taken, by name of the alternative, in the order in which they are tried.
        first: Name of the first alternative, empty = there are none.
    """

    name: str
    request: DeviceRequest
    tolerations: tuple[Json, ...] = ()
    others: tuple[tuple[str, DeviceRequest], ...] = ()
    first: str = ""

    @property
    def alternatives(self) -> tuple[tuple[str, DeviceRequest], ...]:
        """What is asked for, by the name that an allocation gives it, first choice first."""
        if not self.first:
            return ((self.name, self.request),)
        return tuple(
            (f"{self.name}/{name}", asked) for name, asked in ((self.first, self.request), *self.others)
        )


def request_of(board: Board, shape: Shape, shared: SharedDevice | None = None) -> DeviceRequest:
    """Return what a replica of `shape` asks of DRA; the products keep other boards out.

    `RefusedError` for a share where cards are not shared, or not in such parts.

    Args:
        board: Its board.
        shape: The shape.
        shared: What claims may consume of a card, `None` = no card takes several claims.
    """
    if shape.hundredths:
        amounts = shared.share(shape.hundredths) if shared is not None else None
        if amounts is None:
            why = "takes several claims (allowMultipleAllocations) and gives memory in such parts"
            raise RefusedError(f"no claim is written for {shape}: no card of the fleet {why}")
        named = tuple(sorted(amounts.items()))
        # Of a card that takes one claim the same amounts would be given, and all of the card.
        return DeviceRequest("gpu", None, board.product_names, amounts=named, must_share=True)
    if shape.is_whole:
        return DeviceRequest("gpu", None, board.product_names, count=shape.cards)
    return DeviceRequest("mig", shape.profile, board.product_names)


def claim_template(
    namespace: str, board: Board, shape: Shape, like: Ask, shared: SharedDevice | None = None
) -> Json:
    """Return the ResourceClaimTemplate of a shape, asking under the name and tolerations of `like`.

    Other arguments and errors as of `request_of`.
    """
    request = request_of(board, shape, shared)
    clauses = [guarded("productName", request.products)]
    if request.must_share:
        clauses.append(SHARED)
    if request.profile is not None:
        clauses.insert(0, guarded("profile", (request.profile,), is_one=True))
    exactly: Json = {
        "deviceClassName": next(name for name, kind in KIND_BY_CLASS.items() if kind == request.kind),
        "selectors": [{"cel": {"expression": clause}} for clause in clauses],
        "allocationMode": "ExactCount",
        "count": request.count,
    }
    if request.amounts:
        exactly["capacity"] = {"requests": {name: _quantity(held) for name, held in request.amounts}}
    if like.tolerations:
        exactly["tolerations"] = list(like.tolerations)
    devices: Json = {"requests": [{"name": like.name, "exactly": exactly}]}
    if request.count > 1 and like.request.sharing:
        devices["constraints"] = [{"matchAttribute": _qualified(name)} for name in like.request.sharing]
    spec: Json = {"spec": {"devices": devices}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {
            "name": dns_label(f"foreslice-{shape.board}-{shape.name}-{digest_of(spec)}"),
            "namespace": namespace,
            "labels": dict(MANAGED_BY),
        },
        "spec": spec,
    }


def asks_gpu(claim_spec: Json) -> bool:
    """Return whether a claim spec asks for anything of NVIDIA's GPU classes."""
    return any(part.get("deviceClassName") in KIND_BY_CLASS for part in _wishes(claim_spec))


def asks_part(claim_spec: Json) -> bool:
    """Return whether a claim spec says how much of a device it consumes."""
    return any((part.get("capacity") or {}).get("requests") for part in _wishes(claim_spec))


def _wishes(claim_spec: Json) -> Iterator[Json]:
    for request in _requests(claim_spec):
        yield from (request.get("exactly") or {}, *(request.get("firstAvailable") or []))


def ask_of(claim_spec: Json) -> Ask:
    """Return what a claim spec asks for; `RefusedError` where it is neither one device nor whole cards alone.

    Args:
        claim_spec: `spec` of a ResourceClaim, `spec.spec` of a ResourceClaimTemplate.
    """
    requests = _requests(claim_spec)
    devices: Json = claim_spec.get("devices") or {}
    if len(requests) != 1:
        raise RefusedError("the claim must make exactly one request")
    if devices.get("config"):
        raise RefusedError("the claim carries driver config, which may not suit another shape")
    name: str = requests[0]["name"]
    exactly: Json = requests[0].get("exactly") or {}
    if exactly:
        request = replace(_asked(exactly), sharing=_shared(devices.get("constraints") or []))
        return Ask(name, request, tuple(exactly.get("tolerations") or ()))
    parts: list[Json] = requests[0].get("firstAvailable") or []
    if not parts:
        raise RefusedError("the claim's request asks for nothing")
    first, *others = parts
    return Ask(
        name,
        _asked(first),
        tuple(first.get("tolerations") or ()),
        tuple((part["name"], _asked(part)) for part in others),
        first["name"],
    )


def _asked(part: Json) -> DeviceRequest:
    """Return what a request, or one of its alternatives, asks for."""
    if part.get("deviceClassName") not in KIND_BY_CLASS:
        raise RefusedError(f"the claim asks for device class {part.get('deviceClassName')}, not for a GPU")
    kind, count = KIND_BY_CLASS[part["deviceClassName"]], part.get("count", 1)
    if part.get("allocationMode", "ExactCount") != "ExactCount" or (count != 1 and kind != "gpu"):
        raise RefusedError("the claim must ask for exactly one device, or for so many whole cards")
    if part.get("adminAccess"):
        raise RefusedError("the claim uses adminAccess, which is no device of its own")
    amounts = (part.get("capacity") or {}).get("requests") or {}
    if amounts and (kind != "gpu" or count != 1):
        raise RefusedError(
            "the claim consumes capacity of MIG devices or of several cards: name capacity of one whole "
            "card, or ask for another profile"
        )
    expressions = (selector["cel"]["expression"] for selector in part.get("selectors") or ())
    named = tuple(sorted((name, named_amount(held)) for name, held in amounts.items()))
    return replace(request_asked(kind, expressions), count=count, amounts=named)


def _shared(constraints: Iterable[Json]) -> tuple[str, ...]:
    """Return the attributes of which the devices of a claim's only request must have one value."""
    names = []
    for constraint in constraints:
        if not constraint.get("matchAttribute"):
            raise RefusedError("the claim constrains its devices by other than matchAttribute")
        names.append(constraint["matchAttribute"].removeprefix(f"{DRIVER}/"))
    return tuple(names)


def _qualified(attribute: str) -> str:
    return attribute if "/" in attribute else f"{DRIVER}/{attribute}"


def shape_asked(
    request: DeviceRequest, boards: Iterable[Board], kinds: Iterable[tuple[Shape, Device]] = ()
) -> Shape:
    """Return the shape that a request names among the fleet's boards; `RefusedError` if not exactly one.

    Args:
        request: The request.
        boards: Kinds of cards of the fleet.
        kinds: A published device of each shape and size: what a request by generation or size is judged by.
    """
    if request.amounts:
        return _share_asked(request, [one for one in kinds if request.matches(one[1])])
    asked = f"profile {request.profile}" if request.profile else f"any {request.kind} device"
    if request.architectures or request.bounds:
        asked += " of such a generation or size"
        offering = {shape for shape, device in kinds if request.matches(device)}
    elif request.kind == "mig" and request.profile is None:
        raise RefusedError("the claim takes any MIG device: select a profile")
    else:
        offering = {
            Shape(board.id, request.profile or WHOLE)
            for board in boards
            if (not request.products or set(request.products) & set(board.product_names))
            and (
                request.profile is None or any(profile.name == request.profile for profile in board.profiles)
            )
        }
    if not offering:
        raise RefusedError(f"the claim asks for {asked}, which no card of the fleet offers")
    if len(offering) == 1:
        return replace(offering.pop(), cards=request.count)
    if len(names := sorted({shape.board for shape in offering})) > 1:
        raise RefusedError(f"the claim asks for {asked} of {' and '.join(names)} alike: select a productName")
    profiles = ", ".join(sorted(shape.name for shape in offering))
    raise RefusedError(f"the claim asks for {asked}, which any of {profiles} is: select a profile")


def _share_asked(request: DeviceRequest, cards: Iterable[tuple[Shape, Device]]) -> Shape:
    """Return what part of a card a request consumes; one of a size that is reckoned with, on any of them."""
    found: dict[Shape, bool] = {}
    said = ""
    for whole, card in cards:
        if card.shared is None:
            raise RefusedError(
                f"the claim asks for a part of a card, and some take one claim only: select {SHARED}, else "
                "it may be given all of one"
            )
        consumed = card.shared.consumed_by(dict(request.amounts))
        if consumed is None:
            raise RefusedError("the claim asks for amounts that a card of the fleet does not give")
        hundredths = card.shared.hundredths(consumed)
        is_whole = hundredths >= SHARE_UNITS
        room = card.shared.share(hundredths) if hundredths in SHARE_SIZES[SHARES] else None
        fits = is_whole or (room is not None and all(held <= room[name] for name, held in consumed.items()))
        shape = whole if is_whole else replace(whole, profile=f"{hundredths}/{SHARE_UNITS}")
        found[shape] = found.get(shape, False) or fits
        said = said or f"{_said(consumed)} of a card, and foreslice reckons with {_offered(card.shared)}"
    if len(found) != 1:
        names = " and ".join(map(str, found)) or "no card of the fleet that takes several claims"
        raise RefusedError(f"the claim asks for a part of {names}: select the productName of one that does")
    ((shape, fits),) = found.items()
    if not fits:
        raise RefusedError(f"the claim consumes {said}: name one of these")
    return shape


def _offered(shared: SharedDevice) -> str:
    """Return the shares of a card, by what a claim names for each."""
    named = ((size, shared.share(size)) for size in SHARE_SIZES[SHARES])
    return " or ".join(f"{_said(amounts)} ({size}/{SHARE_UNITS})" for size, amounts in named if amounts)


def _said(amounts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {_quantity(held)}" for name, held in amounts.items())


def _quantity(amount: int) -> str:
    """Return a whole number as a quantity, of memory in its usual unit."""
    mebibytes, rest = divmod(amount, 1 << 20)
    return str(amount) if rest or not mebibytes else f"{mebibytes}Mi"


def _requests(claim_spec: Json) -> list[Json]:
    devices: Json = claim_spec.get("devices") or {}
    return devices.get("requests") or []
