"""Devices as a DRA driver offers them, and the counters that they share.

Names follow the Kubernetes API group resource.k8s.io/v1 and KEP-4815 (partitionable devices): a
device draws amounts from the counter sets of its pool; two devices overlap when together they draw
more than a set holds. Likewise claims that share one device (KEP-5075, consumable capacity): each has a part
of it, which draws from the capacities of the device.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from types import MappingProxyType

from fleet.ledgers.consumable import SharedDevice
from fleet.shape import SHARE_UNITS


@dataclass(frozen=True, slots=True)
class Device:
    """One allocatable device.

    Attributes:
        node: Node that holds it.
        pool: Pool that it is published in.
        name: Name inside the pool; names are no contract, nothing is read from them.
        kind: `"gpu"` for a whole card, `"mig"` for an instance, `"share"` for a part of a card that nothing
            keeps its tenant to: a time slice, or what a claim consumes of a device.
        gpu: UUID of the card.
        profile: MIG profile, or hundredths of the card; `None` for a whole card.
        draws: Amount by (counter set, counter).
        memory_slices: Indices of the memory slices that it occupies, of a time slice its own; empty if the
            driver does not say.
        product: Product name of the card, as the driver prints it.
        architecture: Its generation, as the driver prints it.
        capacity: What the device has, by name: `memory` in bytes, `multiprocessors`.
        attributes: What else is published of an uncut card: what devices of one claim may have to share.
        shared: What claims may consume of it, with nothing taken; `None` = one claim has all of it.
        part_of: Name of the device that it is a part of, empty = it is published itself.
    """

    node: str
    pool: str
    name: str
    kind: str
    gpu: str
    profile: str | None
    draws: Mapping[tuple[str, str], int] = field(hash=False)
    memory_slices: frozenset[int] = frozenset()
    product: str = ""
    architecture: str = ""
    capacity: Mapping[str, int] = field(default_factory=dict, hash=False)
    attributes: Mapping[str, str] = field(default_factory=dict, hash=False)
    shared: SharedDevice | None = None
    part_of: str = ""

    @property
    def id(self) -> DeviceId:
        """What it is told apart by; of what is published itself, what an allocation result names it by."""
        return (self.pool, self.name)

    @property
    def published(self) -> DeviceId:
        """What is published of it: of a part the device that it is a part of."""
        return (self.pool, self.part_of or self.name)

    def part(self, name: str, consumed: Mapping[str, int]) -> Device:
        """Return what a claim has of it that consumes so much: itself where that is all of its memory.

        A part is a hundredth of the device or more: who has less of its memory has a place on it, too.

        Args:
            name: What tells it apart from other parts.
            consumed: Amounts by capacity.
        """
        hundredths = self.shared.hundredths(consumed) if self.shared is not None else SHARE_UNITS
        if hundredths >= SHARE_UNITS:
            return self
        return replace(
            self,
            name=f"{self.name}/{name}",
            kind="share",
            profile=f"{max(1, hundredths)}/{SHARE_UNITS}",
            draws=drawn(self.name, consumed),
            memory_slices=frozenset(),
            capacity={},
            attributes={},
            shared=None,
            part_of=self.name,
        )


DeviceId = tuple[str, str]


def drawn(device: str, amounts: Mapping[str, int]) -> dict[tuple[str, str], int]:
    """Return amounts of a device's own capacities as draws; no counter set has a name with a slash."""
    return {(f"device/{device}", name): amount for name, amount in amounts.items()}


@dataclass(frozen=True, slots=True)
class Bound:
    """What a device's capacity must be.

    Attributes:
        capacity: Name of the capacity.
        operator: How it is compared: `>=`, `>`, `==`, `<` or `<=`.
        amount: With what; bytes, or a count.
    """

    capacity: str
    operator: str
    amount: int

    def holds(self, device: Device) -> bool:
        """Return whether a device has what is asked; one without that capacity has not."""
        held = device.capacity.get(self.capacity)
        return held is not None and _COMPARED[self.operator](held, self.amount)


_COMPARED = {
    ">=": operator.ge,
    ">": operator.gt,
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """What one replica asks of DRA: devices of a kind, where given of a profile and of certain products.

    Products matter because boards share profile names: the 1g.10gb of an A100 40 GB is not that of an H100.

    Attributes:
        kind: As of a device.
        profile: MIG profile, `None` = any.
        products: Products, empty = any.
        architectures: Generations, empty = any.
        bounds: What its capacities must be.
        count: How many devices, of one node.
        sharing: Attributes that all of them must have, with one value.
        amounts: What a claim consumes of a device that it shares, by capacity; empty = nothing is named.
        must_share: Only devices that take several claims.
    """

    kind: str
    profile: str | None = None
    products: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    bounds: tuple[Bound, ...] = ()
    count: int = 1
    sharing: tuple[str, ...] = ()
    amounts: tuple[tuple[str, int], ...] = ()
    must_share: bool = False

    def matches(self, device: Device) -> bool:
        """Return whether the device is what is asked for, free or not."""
        return (
            device.kind == self.kind
            and self.profile in (None, device.profile)
            and (not self.products or device.product in self.products)
            and (not self.architectures or device.architecture in self.architectures)
            and all(bound.holds(device) for bound in self.bounds)
            and (not self.must_share or device.shared is not None)
        )


@dataclass(frozen=True)
class Pool:
    """Devices of one node in the order in which the scheduler tries them, and what they share."""

    name: str
    node: str
    devices: tuple[Device, ...]
    counters: Mapping[tuple[str, str], int] = field(hash=False)

    def asked_for(self, request: DeviceRequest) -> Iterator[Device]:
        """Yield the devices that a request asks for, free or not; linear in those of its kind and profile.

        Of those that claims share by amounts it is a part that consumes what is asked.
        """
        found = filter(request.matches, self._alike.get((request.kind, request.profile), ()))
        return _parts(found, dict(request.amounts)) if request.amounts else found

    @cached_property
    def has_shares(self) -> bool:
        """Whether devices of it are parts of cards that nothing keeps their tenants to."""
        return any(device.kind == "share" for device in self.devices)

    @cached_property
    def _alike(self) -> Mapping[tuple[str, str | None], Sequence[Device]]:
        """Devices by kind and profile, and all of a kind under `None`; a card's instances are many."""
        found: defaultdict[tuple[str, str | None], list[Device]] = defaultdict(list)
        for device in self.devices:
            for profile in {None, device.profile}:
                found[device.kind, profile].append(device)
        return found

    def instead_of(self, device: Device) -> tuple[Device, ...]:
        """Return what the pool publishes and cannot allocate beside one of its devices, and that device."""
        return tuple(
            other
            for other in self.devices
            if not other.part_of
            and (
                other.name == device.name
                or any(
                    amount + device.draws.get(counter, 0) > self.counters.get(counter, 0)
                    for counter, amount in other.draws.items()
                    if counter in device.draws
                )
            )
        )


def _parts(devices: Iterable[Device], asked: Mapping[str, int]) -> Iterator[Device]:
    """Yield what a claim that asks for amounts would have of each device: all of one that takes one claim."""
    for device in devices:
        if device.shared is None:
            if all(device.capacity.get(name, -1) >= amount for name, amount in asked.items()):
                yield device
        elif (consumed := device.shared.consumed_by(asked)) is not None:
            yield device.part("new", consumed)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is left of the counters, by pool, once `taken` is allocated.

    Immutable: `take` returns a new ledger, so a trial costs nothing to roll back. Complexity: `take` is
    linear in the pools and the counters of one of them.
    """

    left: Mapping[str, Mapping[tuple[str, str], int]] = field(hash=False)
    taken: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)

    def fits(self, device: Device) -> bool:
        """Return whether the device is free and its pool still holds what it draws."""
        if device.name in self.taken.get(device.pool, ()):
            return False
        left = self.left.get(device.pool, {})
        return all(left.get(counter, 0) >= amount for counter, amount in device.draws.items())

    def take(self, device: Device) -> Ledger:
        """Return the ledger after allocating the device; it may not fit, as on a cluster that was overrun."""
        left = dict(self.left.get(device.pool, {}))
        _draw(left, device)
        taken = self.taken.get(device.pool, frozenset()) | {device.name}
        return Ledger({**self.left, device.pool: left}, {**self.taken, device.pool: taken})


def ledger_of(pools: Iterable[Pool], taken: Iterable[Device] = ()) -> Ledger:
    """Return the ledger of `pools` with the devices `taken` already allocated."""
    left = {pool.name: dict(pool.counters) for pool in pools}
    names: dict[str, set[str]] = {}
    for device in taken:
        names.setdefault(device.pool, set()).add(device.name)
        _draw(left.setdefault(device.pool, {}), device)
    return Ledger(left, {pool: frozenset(devices) for pool, devices in names.items()})


def _draw(left: dict[tuple[str, str], int], device: Device) -> None:
    for counter, amount in device.draws.items():
        left[counter] = left.get(counter, 0) - amount


def rank_of_trial(pool: Pool, ledger: Ledger, company: int = 0, kin: int = 0) -> tuple[int, int, int, str]:
    """Return a key by which kube-scheduler comes to the node of a pool sooner or later, for one pod.

    It scores nodes, and its ordinary scores prefer the emptier one; devices are not scored (kubernetes
    pkg/scheduler/framework/plugins/dynamicresources, computeScore). `company` says how many pods the node has
    that the pod would rather be beside: preferred pod affinity, with twice their weight, outdoes them
    (pkg/scheduler/apis/config/v1/default_plugins.go). `kin` says how many pods run in the fault domain of the
    node that the pod would rather be apart from, which outdoes company. Pods beside those with devices are
    not known here and are left out.
    """
    return kin, -company, len(ledger.taken.get(pool.name, ())), pool.name


def in_order_of_trial(
    pools: Iterable[Pool],
    ledger: Ledger,
    company: Mapping[str, int] = MappingProxyType({}),
    kin: Mapping[str, int] = MappingProxyType({}),
) -> list[Pool]:
    """Return pools in the order of `rank_of_trial`; `company` and `kin` by node."""
    return sorted(
        pools, key=lambda pool: rank_of_trial(pool, ledger, company.get(pool.node, 0), kin.get(pool.node, 0))
    )


def first_fit(
    pools: Iterable[Pool], ledger: Ledger, request: DeviceRequest, shut: Collection[DeviceId] = frozenset()
) -> tuple[Device, ...]:
    """Return the devices that kube-scheduler would allocate, empty if nothing fits.

    The allocator walks pools and devices in published order and takes the first that matches and
    fits; it neither looks for the best fit nor minds fragmentation (kubernetes
    staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating, v1.37). Of several, the
    first binds those after it to its own values of what they must share; if too few have them, the next is
    tried as the first. Those that are `shut` are tainted, and the taint is not tolerated. Complexity: linear
    in the devices that match the request, for several in their square.
    """
    for pool in pools:
        fitting = (
            device
            for device in pool.asked_for(request)
            if ledger.fits(device) and device.published not in shut
        )
        if request.count == 1 and not request.sharing:
            found = tuple(islice(fitting, 1))
        else:
            found = _alike(tuple(fitting), ledger, request)
        if found:
            return found
    return ()


def _alike(devices: tuple[Device, ...], ledger: Ledger, request: DeviceRequest) -> tuple[Device, ...]:
    """Return the first devices that fit together and share what they must, empty if there are too few."""
    for at, first in enumerate(devices):
        if not all(name in first.attributes for name in request.sharing):
            continue
        taken: tuple[Device, ...] = (first,)
        left = ledger.take(first)
        for device in devices[at + 1 :]:
            if len(taken) == request.count:
                break
            shares = all(first.attributes[name] == device.attributes.get(name) for name in request.sharing)
            if shares and left.fits(device):
                taken, left = (*taken, device), left.take(device)
        if len(taken) == request.count:
            return taken
    return ()
