"""Engines, routers and exporters as data: which series carry which signal, under which names.

One YAML file each in `predictor/data/engines` says so for those that people run; an operator describes
another one in the same words in the settings file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from fleet.signal import Distribution, Signal


class Role(StrEnum):
    """Who exports: where it stands on a request's way, or what it measures."""

    ROUTER = "router"
    ENGINE = "engine"
    CARD = "card"
    TENANT = "tenant"


@dataclass(frozen=True, slots=True)
class Named:
    """One name under which a signal is exported.

    Attributes:
        name: The series' own name.
        scale: What a reading is multiplied with to be in the signal's unit.
        where: Values that a label must have for the series to count, by label; empty = all of that name.
    """

    name: str
    scale: float = 1.0
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def fits(self, labels: Mapping[str, str]) -> bool:
        """Return whether a series of this name with these labels counts."""
        return all(labels.get(label) in values for label, values in self.where.items())


@dataclass(frozen=True, slots=True)
class Histogram:
    """The series of one distribution; without `bucket` it tells its mean and no quantile."""

    sum: Named
    count: Named
    bucket: Named | None


@dataclass(frozen=True, slots=True)
class Version:
    """A generation of an engine: it exports all of `has` and none of `lacks`."""

    name: str
    has: frozenset[str]
    lacks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels by their meaning; of several names the first that a series carries counts.

    Attributes:
        model: The served model.
        namespace: Namespace of the pod that is measured.
        pod: The pod that is measured.
        node: Its node.
        card: UUID of the card.
        slice: MIG instance on the card; ids are used again after a repartition.
        profile: MIG profile of that instance.
        copies: Ranks of one replica that all show the same readings: one of them is read.
        lower_case: Labels whose values are written in lower case whatever the user wrote.
    """

    model: tuple[str, ...] = ()
    namespace: tuple[str, ...] = ("namespace",)
    pod: tuple[str, ...] = ("pod",)
    node: tuple[str, ...] = ()
    card: tuple[str, ...] = ()
    slice: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    lower_case: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Engine:
    """What one engine, router or exporter exports.

    Attributes:
        name: How settings and output name it.
        title: What people call it.
        role: Who exports.
        labels: What its labels mean.
        series: By signal: its names, newest first. An engine on the way from one name to the next exports
            both with the same readings, so that only the first that a pod has is counted.
        histograms: By distribution: its series, newest first.
        versions: Generations, the first that fits counts.
        needs_match: A workload's match must have one of these labels, as the names are anybody's.
        is_lazy: Whether a counter has no series before the first request.
        stand_ins: Distributions whose quantiles add up to an upper bound of one that is missing.
        of_card: Signals that every slice of a card shows for the whole card.
        of_whole_cards: Series that say nothing of a card that is cut into slices, even where they are there.
        missing: Why a signal or distribution is not there.
        notes: What else has to be known of one that is.
    """

    name: str
    title: str
    role: Role
    labels: Labels
    series: Mapping[Signal, tuple[Named, ...]]
    histograms: Mapping[Distribution, tuple[Histogram, ...]]
    versions: tuple[Version, ...] = ()
    needs_match: tuple[str, ...] = ()
    is_lazy: bool = False
    stand_ins: Mapping[Distribution, tuple[Distribution, ...]] = field(default_factory=dict)
    of_card: frozenset[Signal] = frozenset()
    of_whole_cards: frozenset[str] = frozenset()
    missing: Mapping[str, str] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def signals(self) -> frozenset[Signal]:
        """Signals that it exports, or that can be reckoned from what it exports."""
        reckoned = {Signal.KV_USE} if {Signal.KV_USED, Signal.KV_ROOM} <= self.series.keys() else set()
        return frozenset(self.series.keys() | reckoned)

    def names(self) -> frozenset[str]:
        """Return every series that is read of it, histograms included."""
        of_signals = {named.name for names in self.series.values() for named in names}
        parts = (
            part
            for histograms in self.histograms.values()
            for histogram in histograms
            for part in (histogram.sum, histogram.count, histogram.bucket)
        )
        return frozenset(of_signals | {part.name for part in parts if part is not None})

    def version(self, names: Iterable[str]) -> str:
        """Return the generation that exports series of these names, empty when none is told apart."""
        present = set(names)
        fitting = (v for v in self.versions if v.has <= present and not v.lacks & present)
        return next((version.name for version in fitting), "")


def engine_of(name: str, described: Mapping[str, Any]) -> Engine:
    """Return the engine that was described in the words of the files in `predictor/data/engines`.

    With `like` it is that shipped engine with what is said here instead or besides.

    Raises:
        KeyError, TypeError, ValueError: It was not described in these words; settings check them before.
    """
    said = dict(described)
    if base := said.pop("like", None):
        said = _joined(_described()[base], said)
    renamings = said.get("renamings", {})
    series, histograms = {}, {}
    for signal, names in said["series"].items():
        listed = _listed(names, renamings)
        if signal in set(Distribution):
            histograms[Distribution(signal)] = tuple(_histogram(one) for one in listed)
        else:
            series[Signal(signal)] = tuple(_named(one) for one in listed)
    if Distribution.TTFT in histograms:
        series[Signal.TTFT_SUM] = tuple(one.sum for one in histograms[Distribution.TTFT])
        series[Signal.TTFT_COUNT] = tuple(one.count for one in histograms[Distribution.TTFT])
    if Distribution.ITL in histograms:
        series[Signal.ITL_SUM] = tuple(one.sum for one in histograms[Distribution.ITL])
        series[Signal.ITL_COUNT] = tuple(one.count for one in histograms[Distribution.ITL])
    return Engine(
        name=name,
        title=said.get("title", name),
        role=Role(said.get("role", Role.ENGINE)),
        labels=Labels(**{meaning: tuple(labels) for meaning, labels in said.get("labels", {}).items()}),
        series=series,
        histograms=histograms,
        versions=tuple(
            Version(version, frozenset(told["with"]), frozenset(told.get("without", ())))
            for version, told in said.get("versions", {}).items()
        ),
        needs_match=tuple(said.get("needs_match", ())),
        is_lazy=said.get("is_lazy", False),
        stand_ins={
            Distribution(one): tuple(map(Distribution, parts))
            for one, parts in said.get("stand_ins", {}).items()
        },
        of_card=frozenset(map(Signal, said.get("of_card", ()))),
        of_whole_cards=frozenset(said.get("of_whole_cards", ())),
        missing=said.get("missing", {}),
        notes=said.get("notes", {}),
    )


@cache
def shipped() -> Mapping[str, Engine]:
    """Return the engines that foreslice knows by itself, by name."""
    return {name: engine_of(name, described) for name, described in _described().items()}


def recognised(names: Iterable[str], engines: Iterable[Engine]) -> list[Engine]:
    """Return the engines whose series are among these names; names that are anybody's show nothing."""
    present = set(names)
    return [engine for engine in engines if not engine.needs_match and engine.names() & present]


@cache
def _described() -> Mapping[str, Mapping[str, Any]]:
    folder = files("predictor").joinpath("data/engines")
    found = sorted(folder.iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".yaml"): yaml.safe_load(file.read_text(encoding="utf-8")) for file in found
    }


def _joined(base: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is said over what is known of the base; groups are joined key by key."""
    groups = {
        key: {**base[key], **value}
        for key, value in said.items()
        if isinstance(value, dict) and isinstance(base.get(key), dict)
    }
    return {**base, **said, **groups}


def _listed(names: Any, renamings: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return one description per name, renamed ones after those that they were made of."""
    single = names if isinstance(names, list | tuple) else [names]
    listed = [{"name": one} if isinstance(one, str) else dict(one) for one in single]
    renamed = [
        {key: _renamed(value, old, new) if key in _NAMES else value for key, value in one.items()}
        for old, others in renamings.items()
        for new in others
        for one in listed
    ]
    return listed + [one for one in renamed if one not in listed]


_NAMES = {"name", "sum", "count"}


def _renamed(name: str, old: str, new: str) -> str:
    return new + name.removeprefix(old) if name.startswith(old) else name


def _named(said: Mapping[str, Any], name: str = "", *, is_scaled: bool = True) -> Named:
    where = {
        label: (values,) if isinstance(values, str) else tuple(values)
        for label, values in said.get("where", {}).items()
    }
    return Named(name or said["name"], float(said.get("scale", 1.0)) if is_scaled else 1.0, where)


def _histogram(said: Mapping[str, Any]) -> Histogram:
    if "sum" in said:
        return Histogram(_named(said, said["sum"]), _named(said, said["count"], is_scaled=False), None)
    name = said["name"]
    return Histogram(
        _named(said, f"{name}_sum"),
        _named(said, f"{name}_count", is_scaled=False),
        _named(said, f"{name}_bucket"),
    )
