"""Cards and their tenants in a scrape: what each slice and each tenant uses, and what is free.

A reading of a card or a slice is no tenant's own where several share it, and is never added up over them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleet.signal import Signal
from predictor.engines import Engine, Role
from predictor.inspection.reading import Reading, first_label, readings
from predictor.inspection.scrape import Exposed

_PROFILE = re.compile(
    r"(\d+c\.)?\d+g\.\d+gb(\+.+)?"
)  # NVIDIA's MIG user guide, names of GPU instance profiles


@dataclass(frozen=True, slots=True)
class Device:
    """One slice of a card, one whole card, or one tenant's share of it.

    Attributes:
        exporter: Who says it.
        node: Its node, empty where the exporter does not say.
        card: UUID of the card.
        slice: MIG instance, empty for a whole card; ids are used again after a repartition.
        profile: MIG profile of the instance.
        tenants: Pods on it, `namespace/name`; empty = free.
        signals: What it says of this device alone.
    """

    exporter: Engine
    node: str
    card: str
    slice: str
    profile: str
    tenants: tuple[str, ...]
    signals: Mapping[Signal, Reading]


@dataclass(frozen=True, slots=True)
class Card:
    """What is told of a card as a whole: every slice repeats it, so that it counts once."""

    node: str
    card: str
    signals: Mapping[Signal, Reading]


@dataclass(frozen=True, slots=True)
class Devices:
    """All that a scrape tells of cards.

    Attributes:
        devices: Slices, whole cards and tenants' shares.
        cards: What is told of cards as a whole.
        doubtful: What was left out, one line each.
        notes: What else has to be known, one line each.
    """

    devices: tuple[Device, ...]
    cards: tuple[Card, ...]
    doubtful: tuple[str, ...]
    notes: tuple[str, ...]


def devices_of(series: Sequence[Exposed], engines: Iterable[Engine]) -> Devices:
    """Return what exporters of cards and tenants say, in the order of the series."""
    devices: list[Device] = []
    cards: list[Card] = []
    doubtful: list[str] = []
    notes: list[str] = []
    for engine in engines:
        if engine.role not in {Role.CARD, Role.TENANT}:
            continue
        good, broken = _with_good_profiles(series, engine)
        if broken:
            doubtful.append(f"{len(broken)} series with a profile that is none are left out: {broken[0]}")
        known = [one for one in good if one.name in engine.names()]
        cut = {_card(engine, one) for one in known if _value(engine.labels.slice, one)}
        whole = [one for one in known if one.name in engine.of_whole_cards and _card(engine, one) in cut]
        if whole:
            names = ", ".join(sorted({one.name for one in whole}))
            doubtful.append(f"{names} says nothing of a card that is cut into slices: left out there")
        known = [one for one in known if one not in whole]
        devices += _devices(known, engine)
        cards += _cards(known, engine)
        told = {signal for device in devices for signal in device.signals}
        notes += [f"{name}: {note}" for name, note in engine.notes.items() if name in told]
    return Devices(tuple(devices), tuple(cards), tuple(doubtful), tuple(notes))


def _with_good_profiles(series: Sequence[Exposed], engine: Engine) -> tuple[list[Exposed], list[str]]:
    good, broken = [], []
    for one in series:
        profile = _value(engine.labels.profile, one)
        if profile and not _PROFILE.fullmatch(profile):
            broken.append(f"{one.name} {profile}")
        else:
            good.append(one)
    return good, broken


def _devices(series: Sequence[Exposed], engine: Engine) -> Iterator[Device]:
    groups: dict[tuple[str, ...], list[Exposed]] = {}
    for one in series:
        if engine.role is Role.CARD:
            key = (*_card(engine, one), _value(engine.labels.slice, one))
        else:
            key = (*_card(engine, one), _tenant(engine, one))
        groups.setdefault(key, []).append(one)
    for members in groups.values():
        own = _once(members) if engine.role is Role.CARD else members
        signals = readings(own, engine)
        yield Device(
            exporter=engine,
            node=_value(engine.labels.node, members[0]),
            card=_value(engine.labels.card, members[0]),
            slice=_value(engine.labels.slice, members[0]),
            profile=_value(engine.labels.profile, members[0]),
            tenants=tuple(sorted({tenant for one in members if (tenant := _tenant(engine, one))})),
            signals={signal: told for signal, told in signals.items() if signal not in engine.of_card},
        )


def _cards(series: Sequence[Exposed], engine: Engine) -> Iterator[Card]:
    of_card = {named.name for signal in engine.of_card for named in engine.series[signal]}
    groups: dict[tuple[str, str], list[Exposed]] = {}
    for one in series:
        if one.name in of_card:
            groups.setdefault(_card(engine, one), []).append(one)
    for (node, card), members in groups.items():
        yield Card(node, card, readings(_once(members), engine))


def _once(series: Sequence[Exposed]) -> list[Exposed]:
    """Return one series of each name: a device is shown once for every tenant, or for every slice."""
    highest: dict[str, Exposed] = {}
    for one in series:
        if one.name not in highest or one.newest > highest[one.name].newest:
            highest[one.name] = one
    return list(highest.values())


def _value(labels: Iterable[str], one: Exposed) -> str:
    return first_label(one.labels, labels)


def _card(engine: Engine, one: Exposed) -> tuple[str, str]:
    return _value(engine.labels.node, one), _value(engine.labels.card, one)


def _tenant(engine: Engine, one: Exposed) -> str:
    pod = _value(engine.labels.pod, one)
    return f"{_value(engine.labels.namespace, one)}/{pod}" if pod else ""
