"""Signals from a Prometheus, or from anything that speaks its HTTP API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from fleet.errors import InputError
from fleet.sample import Reason, Sample, Unknown
from fleet.signal import Signal
from fleet.workload import WorkloadKey
from predictor.copies import SCRAPER_LABELS
from predictor.ports import Floats, InstantSamples, SignalBuckets
from predictor.readings import SeriesKey, SeriesStore
from predictor.series import STALE_S
from predictor.sources.access import Access
from predictor.sources.matching import LabelValues, Match, match_of
from predictor.sources.promql import selector
from predictor.sources.query import QueryApi
from predictor.vocabulary import Vocabulary

CHUNK_S = 6 * 3600
"""What one query reads of the past: of a series scraped every 2 s these are 10,800 readings, under the
11,000 points that a server answers (prometheus: web/api/v1/api.go)."""

LOOK_BACK_S = 3600
"""How far before its buckets a query looks. A counter that was not seen there is new, and counts from its
first reading; after an outage that is shorter, the bucket in which scraping goes on is unknown, not low."""

OPEN = Access()

Readings = tuple[dict[str, str], Floats, Floats]
"""Labels, times and values of one series."""


class PrometheusSource:
    """Implements `predictor.ports.MetricsSource` on raw readings: the same buckets as any other source's.

    PromQL's own `increase` extrapolates to the ends of its window and finds nothing where a minute has one
    reading; differences of raw readings do neither (docs/adr/0009). One query reads one signal of all the
    workloads whose matches have the same labels.

    Args:
        url: Address of the server, with whatever stands before `/api/v1`.
        matches: By workload: how its series are known; labels alone stand for any engine, and no router.
        access: Credentials and trust.
        scraper_labels: Labels that say who scraped a series: of its copies one is read.

    Raises:
        InputError: Something of this cannot be used.
    """

    def __init__(
        self,
        url: str,
        matches: Mapping[WorkloadKey, LabelValues | Match],
        *,
        access: Access = OPEN,
        scraper_labels: tuple[str, ...] = SCRAPER_LABELS,
    ) -> None:
        self._url = url
        self._scraper_labels = scraper_labels
        self._api = QueryApi(url, access)
        self._matches = {workload: match_of(labels) for workload, labels in matches.items()}
        self._vocabularies = {workload: match.vocabulary() for workload, match in self._matches.items()}
        for workload, match in self._matches.items():
            for part in match.parts():
                if not part.labels:
                    raise InputError(
                        "no label to know its series by",
                        where=f"match of {workload}",
                        fix="name at least one",
                    )
                selector((), {label: part.spellings(label) for label in part.labels})

    def origins(self) -> dict[WorkloadKey, str]:
        """Return by workload all that its buckets depend on: server, labels, and what series mean."""
        read_by = [self._url, self._scraper_labels]
        return {
            workload: json.dumps(
                [read_by, [[part.labels, part.vocabulary.meanings()] for part in match.parts()]],
                sort_keys=True,
            )
            for workload, match in self._matches.items()
        }

    def samples(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], start_s: int, end_s: int
    ) -> Mapping[WorkloadKey, SignalBuckets]:
        """Return closed minute buckets in [start_s, end_s), see `MetricsSource.samples`."""
        told: dict[WorkloadKey, dict[Signal, list[Floats]]] = {
            workload: {signal: [np.empty(0)] for signal in signals} for workload in workloads
        }
        partial_s = []
        for from_s, to_s in _chunks(start_s, end_s):
            for signal in signals:
                stores, is_partial = self._read([signal], workloads, LOOK_BACK_S + to_s - from_s, to_s)
                if is_partial:
                    partial_s.append((from_s, to_s))
                for workload, store in stores.items():
                    buckets = store.buckets([signal], from_s, to_s)[signal]
                    told[workload][signal].append(np.full_like(buckets, np.nan) if is_partial else buckets)
        return {
            workload: SignalBuckets(
                workload,
                start_s,
                {signal: np.concatenate(parts) for signal, parts in by_signal.items()},
                tuple(dict.fromkeys(partial_s)),
            )
            for workload, by_signal in told.items()
        }

    def now(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], at_s: float
    ) -> Mapping[WorkloadKey, InstantSamples]:
        """Return the newest readings as of `at_s`, see `MetricsSource.now`."""
        stores, is_partial = self._read(signals, workloads, int(STALE_S), at_s)
        pods = {workload: store.now(signals, at_s) for workload, store in stores.items()}
        if is_partial:
            nothing: dict[Signal, Sample] = dict.fromkeys(signals, Unknown(Reason.PARTIAL))
            pods = {workload: dict.fromkeys(seen, nothing) for workload, seen in pods.items()}
        return {workload: InstantSamples(workload, at_s, seen) for workload, seen in pods.items()}

    def _read(
        self, signals: Sequence[Signal], workloads: Sequence[WorkloadKey], span_s: int, at_s: float
    ) -> tuple[dict[WorkloadKey, SeriesStore], bool]:
        """Return what was scraped in the `span_s` up to `at_s`, and whether the server says it is partial."""
        found: dict[WorkloadKey, list[Readings]] = {workload: [] for workload in workloads}
        is_partial = False
        for labels, owners in self._owners(workloads).items():
            values = {label: sorted({own[at] for own in owners}) for at, label in enumerate(labels)}
            spoken = {vocabulary for these in owners.values() for _, vocabulary in these}
            names = sorted({name for vocabulary in spoken for name in vocabulary.names(signals)})
            if not names:
                continue
            answer = self._api.readings(selector(names, values), span_s, at_s)
            is_partial |= answer.is_partial
            for series in answer.series:
                about = series[0]
                for workload, vocabulary in owners.get(tuple(about.get(label, "") for label in labels), ()):
                    if vocabulary.meaning(about["__name__"], about) is not None:
                        found[workload].append(series)
        stores = {
            key: _store(series, self._vocabularies[key], self._scraper_labels)
            for key, series in found.items()
        }
        return stores, is_partial

    def _owners(
        self, workloads: Sequence[WorkloadKey]
    ) -> dict[tuple[str, ...], dict[tuple[str, ...], list[tuple[WorkloadKey, Vocabulary]]]]:
        """Return by labels that are matched, and by their values, whose series these are and what is read."""
        groups: dict[tuple[str, ...], dict[tuple[str, ...], list[tuple[WorkloadKey, Vocabulary]]]] = {}
        for workload in workloads:
            for part in self._matches[workload].parts():
                labels = tuple(sorted(part.labels))
                for values in product(*(sorted(part.spellings(label)) for label in labels)):
                    groups.setdefault(labels, {}).setdefault(values, []).append((workload, part.vocabulary))
        return groups


def _chunks(start_s: int, end_s: int) -> Iterator[tuple[int, int]]:
    for from_s in range(start_s, end_s, CHUNK_S):
        yield from_s, min(from_s + CHUNK_S, end_s)


def _store(found: Sequence[Readings], vocabulary: Vocabulary, scraper_labels: Sequence[str]) -> SeriesStore:
    """Sort series by pod; where one scraper says nothing the next is read, never two of them together."""
    pods: dict[str, dict[tuple[str, ...], list[Readings]]] = {}
    for series in found:
        scraper = tuple(series[0].get(label, "") for label in scraper_labels)
        pods.setdefault(_pod(series[0]), {}).setdefault(scraper, []).append(series)
    store = SeriesStore(vocabulary)
    for pod, scrapers in pods.items():
        for at, scraper in enumerate(sorted(scrapers)):
            for labels, times, values in scrapers[scraper]:
                store.extend(
                    SeriesKey(pod, labels["__name__"], _about(labels, scraper_labels), at), times, values
                )
    return store


def _pod(labels: Mapping[str, str]) -> str:
    """Return the pod of a series; one without a name is known by the address that is scraped."""
    return labels.get("pod") or labels.get("instance", "")


def _about(labels: Mapping[str, str], scraper_labels: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return what tells a series apart from others of the same name and pod, whoever scraped it."""
    return tuple(
        sorted(item for item in labels.items() if item[0] not in {*scraper_labels, "__name__", "pod"})
    )
