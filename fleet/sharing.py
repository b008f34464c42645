"""Who shares which card, what each was granted and uses, and who falls when it fails.

A reading is credited to a tenant only where it is that tenant's alone: of its own share, of the instance that
it has to itself, or of the card that it holds whole. What is measured of a shared card stays the card's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TypeVar


class Extent(StrEnum):
    """What a tenant has to itself: a fault that is fatal to it ends there."""

    CARD = "card"
    INSTANCE = "instance"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Card:
    """One card.

    Attributes:
        uuid: As the driver says it.
        node: Node that holds it, empty where nobody says.
        product: Its product name or board, empty where nobody says.
        memory_bytes: Its memory, `None` where nobody says.
    """

    uuid: str
    node: str = ""
    product: str = ""
    memory_bytes: float | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """What one tenant was granted of one card; `None` where its mechanism grants no bound, or nobody says.

    Attributes:
        tenant: Pod, `namespace/name`.
        card: UUID, empty where nobody says: it is then the one that readings name it on.
        mechanism: Key of `fleet.mechanism.MECHANISMS`, empty where nobody says.
        memory_bytes: Memory.
        memory_share: Part of the card's memory, 0..1.
        compute_share: Part of its compute, 0..1.
        extent: What it has to itself; a share is not, whatever keeps its memory apart.
        together: So many tenants hold this one grant, as pods that use one claim do.
    """

    tenant: str
    card: str
    mechanism: str
    memory_bytes: float | None = None
    memory_share: float | None = None
    compute_share: float | None = None
    extent: Extent = Extent.SHARE
    together: int = 1


@dataclass(frozen=True, slots=True)
class Use:
    """What was measured of a share, an instance or a card.

    Attributes:
        card: UUID.
        instance: MIG instance, empty = none.
        tenants: Pods that it is told of; a share has one.
        is_share: Measured of one tenant's share, not of a device.
        memory_bytes: Memory in use, `None` = no signal.
        compute: Part of the compute of what was measured that was busy, 0..1.
        source: Who says so.
    """

    card: str
    instance: str
    tenants: tuple[str, ...]
    is_share: bool
    memory_bytes: float | None
    compute: float | None
    source: str


@dataclass(frozen=True, slots=True)
class Tenant:
    """One tenant of one card.

    Attributes:
        hold: What it was granted.
        use: What it uses, `None` where no signal is its alone.
        neighbours: The others on the card.
        falls_with: Neighbours that a fatal fault of its own takes along, or theirs takes it.
    """

    hold: Hold
    use: Use | None
    neighbours: tuple[str, ...]
    falls_with: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """One card with all that is known of how it is shared; `None` where nobody knows.

    Attributes:
        card: The card.
        tenants: By name. All of them fall when the card fails: its blast radius.
        mechanisms: Ways by which it is shared; more than one is one too many.
        memory_granted: Part of its memory that was granted.
        compute_granted: Part of its compute that was granted.
        memory_used_bytes: Memory in use, each byte once.
        compute_used: Part of its compute that is busy.
        stranded: Part of the card that is free in one of memory and compute while the other is taken, so that
            no share in proportion can have it.
    """

    card: Card
    tenants: tuple[Tenant, ...]
    mechanisms: tuple[str, ...]
    memory_granted: float | None
    compute_granted: float | None
    memory_used_bytes: float | None
    compute_used: float | None
    stranded: float | None


_Known = TypeVar("_Known", Card, Hold)


def shared(cards: Iterable[Card], holds: Sequence[Iterable[Hold]], uses: Iterable[Use]) -> tuple[Shared, ...]:
    """Return every card that anybody speaks of, by node and UUID.

    Args:
        cards: Who knows most of a card comes first; the others add what it does not say.
        holds: By source, who knows most first: what one source says of a tenant on a card is added up, the
            next one adds what it does not say.
        uses: What was measured.

    Complexity: linear in cards and readings, quadratic in the tenants of one card.
    """
    measured: dict[str, list[Use]] = {}
    for use in uses:
        measured.setdefault(use.card, []).append(use)
    named: dict[str, Card] = {}
    for card in cards:
        named[card.uuid] = _filled(named[card.uuid], card) if card.uuid in named else card
    held: dict[tuple[str, str], Hold] = {}
    for source in holds:
        for place, hold in _added_up(_located(source, measured)).items():
            held[place] = _filled(held[place], hold) if place in held else hold
    by_card: dict[str, list[Hold]] = {}
    for hold in held.values():
        by_card.setdefault(hold.card, []).append(hold)
    views = [
        _shared(named.get(uuid, Card(uuid)), by_card.get(uuid, []), measured.get(uuid, []))
        for uuid in dict.fromkeys([*named, *by_card, *measured])
    ]
    return tuple(sorted(views, key=lambda view: (view.card.node, view.card.uuid)))


def taken_by(hold: Hold, card: Card) -> tuple[float | None, float | None]:
    """Return the parts of a card's memory and compute that one holder takes; a joint grant counts once."""
    memory = hold.memory_share
    if memory is None and hold.memory_bytes is not None and card.memory_bytes:
        memory = hold.memory_bytes / card.memory_bytes
    compute = hold.compute_share
    return (
        None if memory is None else memory / hold.together,
        None if compute is None else compute / hold.together,
    )


def _added_up(holds: Iterable[Hold]) -> dict[tuple[str, str], Hold]:
    """Return what each tenant holds of each card; two instances of one card are held by one tenant."""
    held: dict[tuple[str, str], Hold] = {}
    for hold in holds:
        place = hold.card, hold.tenant
        held[place] = _sum_of(held[place], hold) if place in held else hold
    return held


def _sum_of(one: Hold, other: Hold) -> Hold:
    return replace(
        one,
        memory_bytes=_sum((one.memory_bytes, other.memory_bytes)),
        memory_share=_sum((one.memory_share, other.memory_share)),
        compute_share=_sum((one.compute_share, other.compute_share)),
        extent=one.extent if one.extent is other.extent else Extent.SHARE,
    )


def _filled(known: _Known, more: _Known) -> _Known:
    """Return what is known with what it does not say from another."""
    gaps = {
        one.name: getattr(more, one.name) for one in fields(known) if getattr(known, one.name) in (None, "")
    }
    return replace(known, **gaps)


def _located(holds: Iterable[Hold], measured: Mapping[str, Sequence[Use]]) -> Iterator[Hold]:
    """Yield what is held, with the card where only readings tell it; what nobody can place is left out."""
    for hold in holds:
        if hold.card:
            yield hold
            continue
        for uuid, uses in measured.items():
            if any(hold.tenant in use.tenants for use in uses):
                yield replace(hold, card=uuid)


def _shared(card: Card, held: Sequence[Hold], measured: Sequence[Use]) -> Shared:
    holds = [*held, *_only_seen(card, held, measured)]
    tenants = tuple(_tenant(hold, holds, measured) for hold in sorted(holds, key=lambda hold: hold.tenant))
    taken = [taken_by(hold, card) for hold in holds]
    memory, compute = (_sum(of) for of in ([one[0] for one in taken], [one[1] for one in taken]))
    of_card = next((use for use in measured if not (use.instance or use.is_share)), None)
    return Shared(
        card=card,
        tenants=tenants,
        mechanisms=tuple(sorted({hold.mechanism for hold in holds if hold.mechanism})),
        memory_granted=memory,
        compute_granted=compute,
        memory_used_bytes=_memory_used(of_card, measured, tenants),
        compute_used=None if of_card is None else of_card.compute,
        stranded=None if memory is None or compute is None else abs(memory - compute),
    )


def _only_seen(card: Card, held: Sequence[Hold], measured: Sequence[Use]) -> list[Hold]:
    """Return the tenants that readings name and no object does."""
    known = {hold.tenant for hold in held}
    named = dict.fromkeys(tenant for use in measured for tenant in use.tenants if tenant not in known)
    return [Hold(tenant, card.uuid, "") for tenant in named]


def _tenant(hold: Hold, holds: Sequence[Hold], measured: Sequence[Use]) -> Tenant:
    others = tuple(sorted({other.tenant for other in holds} - {hold.tenant}))
    exposed = {other.tenant for other in holds if other.extent is Extent.SHARE} - {hold.tenant}
    falls_with = tuple(sorted(exposed)) if hold.extent is Extent.SHARE else ()
    return Tenant(hold, _use_of(hold, others, measured), others, falls_with)


def _use_of(hold: Hold, others: Sequence[str], measured: Sequence[Use]) -> Use | None:
    """Return the reading that is this tenant's alone, of its share before that of a device."""
    own = [use for use in measured if use.tenants == (hold.tenant,)]
    share = next((use for use in own if use.is_share), None)
    card = next((use for use in measured if not (use.is_share or use.instance)), None)
    return share or _of_instances(own) or (card if hold.extent is Extent.CARD and not others else None)


def _of_instances(own: Sequence[Use]) -> Use | None:
    """Return what one tenant uses of its instances; how busy several are is no single number."""
    instances = list({use.instance: use for use in own if use.instance}.values())
    if len(instances) > 1:
        memory = _sum(use.memory_bytes for use in instances)
        return replace(instances[0], memory_bytes=memory, compute=None)
    return instances[0] if instances else None


def _memory_used(of_card: Use | None, measured: Sequence[Use], tenants: Sequence[Tenant]) -> float | None:
    """Return the card's own reading, else the sum of its instances', else that of all its tenants' shares.

    Levels are never mixed: each shows the same bytes.
    """
    if of_card is not None and of_card.memory_bytes is not None:
        return of_card.memory_bytes
    instances = {use.instance: use.memory_bytes for use in measured if use.instance}
    if instances:
        return _sum(instances.values())
    shares = {use.tenants: use.memory_bytes for use in measured if use.is_share}
    is_told = bool(tenants) and {(tenant.hold.tenant,) for tenant in tenants} <= shares.keys()
    return _sum(shares.values()) if is_told else None


def _sum(parts: Iterable[float | None]) -> float | None:
    """Return the sum, `None` where one of them is not known; of nothing it is zero."""
    total = 0.0
    for part in parts:
        if part is None:
            return None
        total += part
    return total
