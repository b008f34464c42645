"""All that one scrape says, with every doubt there is about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from predictor.copies import SCRAPER_LABELS, suspected
from predictor.engines import Engine, recognised
from predictor.inspection.devices import Devices, devices_of
from predictor.inspection.producers import Producer, producers
from predictor.inspection.scrape import Exposed, Scrape

_TELLING = {"le", "quantile", "instance", "engine", "dp_rank"}
"""Labels that tell different things apart whoever exports them."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a scrape says.

    Attributes:
        scrape: What was read.
        producers: Engines and routers, by model and pod.
        devices: Cards, slices and tenants.
        answers: Results of an expression, which carry no series' name: labels and values.
        doubtful: What must not be believed as it stands, of all that was read.
        ignored: Series that carry nothing that is read.
    """

    scrape: Scrape
    producers: tuple[Producer, ...]
    devices: Devices
    answers: tuple[tuple[Mapping[str, str], float], ...]
    doubtful: tuple[str, ...]
    ignored: int

    @property
    def is_complete(self) -> bool:
        """Whether nothing says that there may be more: only then may it support a removal."""
        return not self.scrape.warnings


def inspected(
    scrape: Scrape,
    engines: Iterable[Engine],
    chosen: Engine | None = None,
    scraper_labels: Sequence[str] = SCRAPER_LABELS,
) -> Inspection:
    """Return what the series say when read as those of known engines, or of the chosen one alone.

    Args:
        scrape: The series.
        engines: Engines that are known.
        chosen: The engine that they are of; `None` = as their names show.
        scraper_labels: Labels that say who scraped a series.
    """
    engines = list(engines)
    series, dropped = without_copies(scrape.series, scraper_labels)
    speakers = [chosen] if chosen is not None else recognised((one.name for one in series), engines)
    told = producers(series, speakers)
    devices = devices_of(series, speakers)
    read = frozenset().union(*(engine.names() for engine in speakers))
    answers = [(one.labels, one.newest) for one in series if not one.name]
    return Inspection(
        scrape=scrape,
        producers=tuple(told),
        devices=devices,
        answers=tuple(answers),
        doubtful=(
            *(f"incomplete, may add and never remove: {warning}" for warning in scrape.warnings),
            *(f"taken once of several that differ in {label} only" for label in dropped),
            *(f"counted twice? series differ in {label} only" for label in _suspects(series, speakers)),
            *_unrecognised(series, engines, speakers),
            *devices.doubtful,
        ),
        ignored=sum(1 for one in series if one.name and one.name not in read),
    )


def without_copies(
    series: Sequence[Exposed], scraper_labels: Sequence[str] = SCRAPER_LABELS
) -> tuple[list[Exposed], list[str]]:
    """Return one of the series that differ in nothing but who scraped them, and the labels that they had.

    The highest counts: a scraper that has lost its target shows less.
    """
    kept: dict[object, Exposed] = {}
    differing: set[str] = set()
    for one in series:
        about = tuple(sorted(item for item in one.labels.items() if item[0] not in scraper_labels))
        other = kept.setdefault((one.name, about), one)
        if other is not one:
            differing |= {
                label for label in scraper_labels if one.labels.get(label) != other.labels.get(label)
            }
            if one.newest > other.newest:
                kept[one.name, about] = one
    return list(kept.values()), sorted(differing)


def _suspects(series: Sequence[Exposed], speakers: Iterable[Engine]) -> list[str]:
    telling = set(_TELLING)
    for engine in speakers:
        meant = engine.labels
        for labels in (meant.model, meant.namespace, meant.pod, meant.node, meant.card, meant.slice):
            telling.update(labels)
        telling.update((*meant.profile, *meant.copies))
        telling.update(label for names in engine.series.values() for named in names for label in named.where)
    return suspected(((one.name, one.labels, one.newest) for one in series), telling)


def _unrecognised(
    series: Sequence[Exposed], engines: Iterable[Engine], speakers: Sequence[Engine]
) -> Iterable[str]:
    there = {one.name for one in series if one.name}
    for engine in engines:
        names = (named.name for names in engine.series.values() for named in names if named.name in there)
        if engine.needs_match and engine not in speakers and (name := next(names, "")):
            yield f"{name} may be {engine.title}'s or anybody's: to read it, name engine {engine.name}"
