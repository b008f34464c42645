"""ResourceSlices of NVIDIA's DRA driver, read into pools, cards and boards.

What the scheduler would not use is not read either: other drivers, older generations of a pool, and
pools of which not every slice is there (KEP-4381). Attribute, capacity and counter names are those of
kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin/{deviceinfo,partitions}.go.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from actuator.manifest import Json
from actuator.mechanisms.dra import DRIVER, SHARES
from actuator.objects.boards import Card, Offer, known_board, published_board
from actuator.objects.pools import complete_pools, stamp
from actuator.quantity import amount
from fleet.boards import Board, Engines
from fleet.cluster import Gpu
from fleet.devices import Device, DeviceId, Pool, drawn
from fleet.ledgers.consumable import Capacity, Policy, SharedDevice
from fleet.shape import SHARE_SIZES, SHARE_UNITS, WHOLE, Shape, share_of

_KINDS = ("gpu", "mig")
_SIZES = SHARE_SIZES[SHARES]
_ENGINES = ("copyEngines", "decoders", "encoders", "jpegEngines", "ofaEngines")
_SLICE_COUNTER = re.compile(r"memory-slice-(\d+)")
_SLICE_CAPACITY = re.compile(r"memorySlice(\d+)")


NO_COUNTERS = (
    "no dynamic MIG, whole cards only: the ResourceSlices of node {node} have no counters (sharedCounters, "
    "consumesCounters), as where the API server drops them (feature gate DRAPartitionableDevices), so the "
    "scheduler would give one card away twice"
)


SHARED = (
    "no claim has a device of node {node} for itself: they take several (allowMultipleAllocations), and who "
    "names no capacity leaves room for more; set consumableShares of the driver to disabled or memory"
)


@dataclass(frozen=True, slots=True)
class Inventory:
    """What the driver publishes.

    Attributes:
        gpus: Cards, in published order.
        pools: Complete pools by name, their devices in the order in which the scheduler tries them.
        barred: Shapes that are offered but must not be asked for, with the reason.
    """

    gpus: tuple[Gpu, ...]
    pools: tuple[Pool, ...]
    barred: Mapping[Shape, str] = field(default_factory=dict, hash=False)
    _devices: Mapping[DeviceId, Device] = field(default_factory=dict, repr=False, compare=False, hash=False)
    _kinds: tuple[tuple[Shape, Device], ...] = field(default=(), repr=False, compare=False)
    _gpu_by_uuid: Mapping[str, Gpu] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Asked for with every view and for every pod, while slices change rarely.
        object.__setattr__(self, "_gpu_by_uuid", {gpu.uuid: gpu for gpu in self.gpus})

    def devices(self) -> Mapping[DeviceId, Device]:
        """Return every device by what an allocation names it by."""
        return self._devices

    def held(self, result: Json) -> Device | None:
        """Return what an allocation result gives, by what it consumes; `None` if nobody publishes that.

        Amounts that were consumed are the evidence that a claim has a part of a device, and of which size.
        """
        device = self._devices.get((result["pool"], result["device"]))
        if device is None or device.shared is None or "consumedCapacity" not in result:
            return device
        consumed = {name: amount(held) for name, held in result["consumedCapacity"].items()}
        return device.part(result.get("shareID", ""), consumed)

    def devices_of(self, node: str) -> tuple[Device, ...]:
        """Return what is published of a node, in order; empty where the driver offers nothing of it."""
        return tuple(
            device
            for pool in self.pools
            if pool.node == node
            for device in pool.devices
            if not device.part_of
        )

    def kinds(self) -> tuple[tuple[Shape, Device], ...]:
        """Return one device of each kind that requests can tell apart, with its shape."""
        return self._kinds

    def gpu_by_uuid(self) -> Mapping[str, Gpu]:
        """Return every card by its UUID."""
        return self._gpu_by_uuid


@dataclass(frozen=True, slots=True)
class _Slice:
    """One ResourceSlice, parsed: its devices, what each tells of its card, and shared counters."""

    devices: tuple[tuple[Device, Offer], ...]
    counters: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class _Node:
    """One complete pool, and what of it is worked out once for as long as its slices stay the same.

    Attributes:
        pool: The pool.
        cards: Its cards, with the board of those that are known.
        devices: Its devices by what an allocation names them by.
        kinds: One of each kind of what it publishes.
        doubtful: Offers that may bar shapes, by the index of their card.
    """

    pool: Pool
    cards: tuple[tuple[Card, Board | None], ...]
    devices: Mapping[DeviceId, Device]
    kinds: tuple[Device, ...]
    doubtful: tuple[tuple[int, Offer], ...]


_Stamp = tuple[str, str]


def publishing(slices: Iterable[Json]) -> frozenset[str]:
    """Return the nodes whose cards the driver publishes, completely or not."""
    return frozenset(body["spec"].get("nodeName", "") for body in slices if body["spec"]["driver"] == DRIVER)


class SliceReader:
    """Reads slices again and again; what did not change since the last time costs a look-up.

    Slices are told apart by name and resourceVersion. What is no longer published is forgotten.
    """

    def __init__(self) -> None:
        self._slices: dict[_Stamp, _Slice] = {}
        self._nodes: dict[tuple[_Stamp, ...], _Node] = {}
        self._read: Sequence[Json] = ()
        self._last: tuple[tuple[_Stamp, ...], Inventory] = ((), Inventory((), ()))

    def read(self, slices: Iterable[Json]) -> Inventory:
        """Return the cards and pools that complete, newest slices publish.

        Complexity: linear in the slices; in the devices only of those that changed. The same objects as the
        last time are told by identity.
        """
        bodies = list(slices)
        if bodies == self._read:
            return self._last[1]
        self._read = bodies
        ours = sorted((body for body in bodies if body["spec"]["driver"] == DRIVER), key=stamp)
        stamps = tuple(map(stamp, ours))
        if self._last[0] != stamps:
            complete = complete_pools(ours)
            self._slices = {
                stamp(body): self._slices.get(stamp(body)) or _parse(body)
                for bodies in complete
                for body in bodies
            }
            stamped = {tuple(map(stamp, bodies)): bodies for bodies in complete}
            self._nodes = {key: self._nodes.get(key) or self._node(bodies) for key, bodies in stamped.items()}
            self._last = (stamps, _inventory(self._nodes.values()))
        return self._last[1]

    def _node(self, bodies: Sequence[Json]) -> _Node:
        parts = [self._slices[stamp(body)] for body in bodies]
        spec = bodies[0]["spec"]
        pool = Pool(
            name=spec["pool"]["name"],
            node=spec.get("nodeName", ""),
            devices=tuple(one for part in parts for device, _ in part.devices for one in _parts(device)),
            counters=dict(item for part in parts for item in part.counters.items()),
        )
        found: defaultdict[str, list[tuple[Device, Offer]]] = defaultdict(list)
        for part in parts:
            for device, offer in part.devices:
                found[device.gpu].append((device, offer))
        cards = [_card(uuid, devices, pool.counters) for uuid, devices in found.items()]
        boards = {card.uuid: known_board(card) for card in cards}
        ids = {uuid: board.id if board else "" for uuid, board in boards.items()}
        return _Node(
            pool=pool,
            cards=tuple((card, boards[card.uuid]) for card in cards),
            devices={device.id: device for device in pool.devices},
            kinds=tuple(_kinds(pool.devices, ids).values()),
            doubtful=tuple(
                (index, offer)
                for index, card in enumerate(cards)
                for offer in card.offers
                if offer.leaves_room or (offer.profile is not None and not offer.memory_slices)
            ),
        )


def _kinds(devices: Iterable[Device], boards: Mapping[str, str]) -> dict[tuple[object, ...], Device]:
    """Return one device of each kind that requests can tell apart; `boards` by card."""
    return {
        (boards[device.gpu], device.profile, device.product, device.shared, *device.capacity.values()): device
        for device in devices
        if not device.part_of
    }


def _inventory(nodes: Iterable[_Node]) -> Inventory:
    nodes = tuple(nodes)
    unknown: defaultdict[str, list[Card]] = defaultdict(list)
    for node in nodes:
        for card, board in node.cards:
            if board is None:
                unknown[card.product].append(card)
    published = {product: published_board(cards) for product, cards in unknown.items()}
    gpus = tuple(
        Gpu(card.uuid, node.pool.node, board or published[card.product])
        for node in nodes
        for card, board in node.cards
    )
    devices: dict[DeviceId, Device] = {}
    for node in nodes:
        devices.update(node.devices)
    boards = {gpu.uuid: gpu.board.id for gpu in gpus}
    kinds = _kinds((device for node in nodes for device in node.kinds), boards).values()
    shaped = tuple((Shape(boards[one.gpu], one.profile or WHOLE), one) for one in kinds)
    return Inventory(
        gpus, tuple(node.pool for node in nodes), _barred(_doubtful(nodes, gpus)), devices, shaped
    )


def _doubtful(nodes: Iterable[_Node], gpus: Sequence[Gpu]) -> Iterator[tuple[Gpu, Offer]]:
    """Yield the offers that may bar shapes, with their cards; `gpus` are those of the nodes, in order."""
    first = 0
    for node in nodes:
        yield from ((gpus[first + index], offer) for index, offer in node.doubtful)
        first += len(node.cards)


def _barred(offers: Iterable[tuple[Gpu, Offer]]) -> dict[Shape, str]:
    """Return the shapes of devices of which others may be given a part, with the reason.

    Those are devices beside whose tenant there is room for others, and MIG devices that say neither by
    counters nor by capacities what they take. Any claim for such a shape, or for a share of such a card, may
    be given one of them, even where others are offered that can be told apart.
    """
    found: dict[str, dict[Shape, str]] = {SHARED: {}, NO_COUNTERS: {}}
    for gpu, offer in offers:
        shape = Shape(gpu.board.id, offer.profile or WHOLE)
        if offer.profile is not None and not offer.memory_slices:
            found[NO_COUNTERS].setdefault(shape, gpu.node)
        elif offer.leaves_room:
            shares = (share_of(gpu.board, size) for size in _SIZES) if shape.is_whole else ()
            for barred in (shape, *shares):
                found[SHARED].setdefault(barred, gpu.node)
    return {shape: said.format(node=min(nodes.values())) for said, nodes in found.items() for shape in nodes}


def _card(
    uuid: str, devices: Sequence[tuple[Device, Offer]], counters: Mapping[tuple[str, str], int]
) -> Card:
    sets = {name for device, _ in devices for name, _ in device.draws}
    sm, memory = (
        sum(counters.get((name, held), 0) for name in sets) for held in ("multiprocessors", "memory")
    )
    return Card(uuid, tuple(offer for _, offer in devices), sm, memory)


def _parse(body: Json) -> _Slice:
    spec = body["spec"]
    counters = {
        (held["name"], name): amount(counter["value"])
        for held in spec.get("sharedCounters") or []
        for name, counter in held["counters"].items()
    }
    devices = tuple(
        _device(published, spec.get("nodeName", ""), spec["pool"]["name"])
        for published in spec.get("devices") or []
        if text_of(published, "type") in _KINDS
    )
    for device, _ in devices:
        if device.shared is not None:
            held = {name: capacity.value for name, capacity in device.shared.capacities.items()}
            counters |= drawn(device.name, held)
    return _Slice(devices, counters)


def _parts(device: Device) -> Iterator[Device]:
    """Yield a device and the parts that claims of ours may have of it, as if they were published too."""
    yield device
    if device.shared is not None:
        for hundredths in _SIZES:
            amounts = device.shared.share(hundredths)
            if amounts is not None:
                for number in range(SHARE_UNITS // hundredths):
                    yield device.part(f"{hundredths}-{number}", amounts)


def _indices(pattern: re.Pattern[str], names: Iterable[str]) -> frozenset[int]:
    return frozenset(int(match[1]) for name in names if (match := pattern.fullmatch(name)))


def text_of(published: Json, attribute: str) -> str:
    """Return a published device's attribute that is text, empty where it has none of that name."""
    held: Json = (published.get("attributes") or {}).get(attribute) or {}
    return str(held.get("string", ""))


def _attributes(published: Json) -> dict[str, str]:
    """Return every attribute of a device as text that tells its values apart."""
    held: Json = published.get("attributes") or {}
    return {name: f"{kind} {value}" for name, one in held.items() for kind, value in one.items()}


def shared_device(published: Json) -> SharedDevice:
    """Return a published device as its ledger, with nothing taken."""
    capacities = {
        name: Capacity(amount(held["value"]), _policy(held.get("requestPolicy")))
        for name, held in sorted((published.get("capacity") or {}).items())
    }
    return SharedDevice(capacities, is_shared=bool(published.get("allowMultipleAllocations")))


def _policy(body: Json | None) -> Policy | None:
    if body is None:
        return None
    span: Json = body.get("validRange") or {}
    bounds = {name: amount(span[name]) for name in ("min", "max", "step") if name in span}
    return Policy(
        default=amount(body["default"]) if "default" in body else None,
        minimum=bounds.get("min"),
        maximum=bounds.get("max"),
        step=bounds.get("step"),
        values=tuple(amount(value) for value in body.get("validValues") or []),
    )


def _device(published: Json, node: str, pool: str) -> tuple[Device, Offer]:
    kind = text_of(published, "type")
    profile = text_of(published, "profile") if kind == "mig" else None
    capacity = {name: amount(held["value"]) for name, held in (published.get("capacity") or {}).items()}
    draws = {
        (taken["counterSet"], name): amount(counter["value"])
        for taken in published.get("consumesCounters") or []
        for name, counter in taken["counters"].items()
    }
    covered = _indices(_SLICE_COUNTER, (name for (_, name), taken in draws.items() if taken)) or _indices(
        _SLICE_CAPACITY, (name for name, held in capacity.items() if held)
    )
    shared = shared_device(published) if published.get("allowMultipleAllocations") else None
    leaves_room = shared is not None and shared.leaves_room
    if shared is not None:
        # Nothing is reckoned with parts of a card that is cut too, or not all taken by who names nothing.
        by_default = shared.consumed_by({}) or {}
        if kind != "gpu" or draws or shared.hundredths(by_default) < SHARE_UNITS:
            shared = None
        else:
            draws = drawn(published["name"], by_default)
    device = Device(
        node=node,
        pool=pool,
        name=published["name"],
        kind=kind,
        gpu=text_of(published, "uuid" if kind == "gpu" else "parentUUID"),
        profile=profile,
        draws=draws,
        memory_slices=covered,
        product=text_of(published, "productName"),
        architecture=text_of(published, "architecture"),
        capacity=_sizes(capacity.get("memory", 0), capacity.get("multiprocessors", 0)),
        attributes=_attributes(published) if kind == "gpu" else {},
        shared=shared,
    )
    offer = Offer(
        profile=profile,
        memory_slices=covered,
        memory=capacity.get("memory", 0),
        sm=capacity.get("multiprocessors", 0),
        engines=Engines(*(capacity.get(name, 0) for name in _ENGINES)),
        product=device.product,
        architecture=device.architecture,
        leaves_room=leaves_room,
    )
    return device, offer


@lru_cache(maxsize=4096)
def _sizes(memory: int, sm: int) -> Mapping[str, int]:
    """Return what requests may be bound by; the same for all devices of a kind."""
    return {name: held for name, held in (("memory", memory), ("multiprocessors", sm)) if held}
