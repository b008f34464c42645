"""The same series scraped twice: who scraped it is no part of what it counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

Labels = Mapping[str, str]

SCRAPER_LABELS: tuple[str, ...] = ("prometheus", "prometheus_replica", "replica", "job")
"""Labels that say who scraped a series, not what it is: two replicas or two jobs count the same requests."""

ALIKE = 0.95
"""Readings of one thing by two scrapers some seconds apart are alike to this share, all taken together."""

LEAST_PAIRS = 3
"""Series in pairs from which on it is no chance that all are alike."""


def suspected(series: Iterable[tuple[str, Labels, float]], telling: Iterable[str]) -> list[str]:
    """Return labels by which series that differ in nothing else come in pairs of nearly the same value.

    Each is likely the label of a scraper that is not known as one, and everything is counted twice.

    Args:
        series: Name, labels and newest value of each.
        telling: Labels that are known to tell different things apart.
    """
    known = set(telling)
    groups: dict[str, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, labels, value in series:
        for label in labels.keys() - known:
            rest = tuple(sorted(item for item in labels.items() if item[0] != label))
            groups[label][name, rest].append(value)
    return sorted(label for label, pairs in groups.items() if _are_copies(pairs.values()))


def _are_copies(groups: Iterable[Sequence[float]]) -> bool:
    pairs = [values for values in groups if len(values) > 1 and max(values) > 0]
    return len(pairs) >= LEAST_PAIRS and sum(map(min, pairs)) >= ALIKE * sum(map(max, pairs))
