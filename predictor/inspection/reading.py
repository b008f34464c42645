"""What the series of one producer say: its signals, and its histograms' means and quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fleet.signal import Distribution, Signal
from predictor.engines import Engine, Histogram, Named
from predictor.inspection.quantiles import Quantile, quantile_of
from predictor.inspection.scrape import Exposed
from predictor.series import Series, is_readable
from predictor.vocabulary import Vocabulary

QUANTILES = (0.5, 0.9, 0.95, 0.99)
"""Quantiles that objectives are written for."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one signal of one producer says.

    Attributes:
        value: The newest reading in the signal's unit: of a counter, what was counted since it began.
        series: Names of the series that it was read from.
        increase: How much a counter grew between its first and last reading, restarts included; `None`
            where it was read once.
        over_s: Time between these readings.
        resets: How often a process started anew in between.
    """

    value: float
    series: tuple[str, ...]
    increase: float | None = None
    over_s: float = 0.0
    resets: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What one histogram of one producer says.

    Attributes:
        series: Name of the histogram, or of its sum.
        count: Observations.
        mean: Their mean, `None` without any.
        quantiles: By share; empty where there are no buckets or no observations.
    """

    series: str
    count: float
    mean: float | None
    quantiles: Mapping[float, Quantile]


def first_label(labels: Mapping[str, str], names: Iterable[str]) -> str:
    """Return the value of the first of these labels that is there, empty without any."""
    return next((labels[name] for name in names if labels.get(name)), "")


def readings(series: Sequence[Exposed], engine: Engine) -> dict[Signal, Reading]:
    """Return what these series of one producer say, by signal: newest name, parts added up, copies once."""
    vocabulary = Vocabulary.of(engine)
    ranks: dict[Signal, dict[int, dict[tuple[tuple[str, str], ...], tuple[Exposed, float]]]] = {}
    for one in series:
        meaning = vocabulary.meaning(one.name, one.labels)
        if meaning is not None and is_readable(one.newest):
            part = tuple(
                sorted(label for label in one.labels.items() if label[0] not in engine.labels.copies)
            )
            ranks.setdefault(meaning.signal, {}).setdefault(meaning.rank, {}).setdefault(
                part, (one, meaning.scale)
            )
    told = {
        signal: _reading(signal, list(by_rank[min(by_rank)].values())) for signal, by_rank in ranks.items()
    }
    used, room = told.get(Signal.KV_USED), told.get(Signal.KV_ROOM)
    if Signal.KV_USE not in told and used is not None and room is not None and room.value > 0:
        told[Signal.KV_USE] = Reading(used.value / room.value, (*used.series, *room.series))
    return {signal: told[signal] for signal in Signal if signal in told}


def distributions(series: Sequence[Exposed], engine: Engine) -> dict[Distribution, Told]:
    """Return what these series of one producer say, by distribution: the newest histogram that is there."""
    found = {
        distribution: next((told for told in (_told(one, series) for one in histograms) if told), None)
        for distribution, histograms in engine.histograms.items()
    }
    return {distribution: told for distribution, told in found.items() if told is not None}


def _reading(signal: Signal, parts: Sequence[tuple[Exposed, float]]) -> Reading:
    values = [one.newest * scale for one, scale in parts]
    value = max(values) if signal.is_ratio else sum(values)
    names = tuple(dict.fromkeys(one.name for one, _ in parts))
    if not signal.is_counter or any(len(one.times_s) < 2 for one, _ in parts):  # noqa: PLR2004 -- first and last
        return Reading(value, names)
    grown = [_grown(one) for one, _ in parts]
    return Reading(
        value,
        names,
        increase=sum(increase * scale for (increase, _), (_, scale) in zip(grown, parts, strict=True)),
        over_s=max(one.times_s[-1] - one.times_s[0] for one, _ in parts),
        resets=sum(resets for _, resets in grown),
    )


def _grown(one: Exposed) -> tuple[float, int]:
    """Return how much a counter grew over its readings, and how often it fell."""
    series = Series(is_counter=True)
    series.extend(one.times_s, one.values)
    known = np.array([value for value in one.values if is_readable(value)])
    return series.growth, int((np.diff(known) < 0).sum())


def _of(part: Named, series: Sequence[Exposed]) -> list[Exposed]:
    return [
        one for one in series if one.name == part.name and part.fits(one.labels) and is_readable(one.newest)
    ]


def _buckets(part: Named, series: Sequence[Exposed]) -> dict[float, float]:
    """Return how many observations are at or below each upper bound, in the distribution's unit."""
    under: dict[float, float] = {}
    for one in _of(part, series):
        if "le" in one.labels:
            bound = float(one.labels["le"]) * part.scale
            under[bound] = under.get(bound, 0.0) + one.newest
    return under


def _told(histogram: Histogram, series: Sequence[Exposed]) -> Told | None:
    sums, counts = (_of(part, series) for part in (histogram.sum, histogram.count))
    if not sums or not counts:
        return None
    count = sum(one.newest for one in counts)
    total = sum(one.newest for one in sums) * histogram.sum.scale
    bucket = histogram.bucket
    buckets = {} if bucket is None else _buckets(bucket, series)
    found = {q: quantile_of(q, buckets) for q in QUANTILES}
    return Told(
        series=histogram.sum.name if bucket is None else bucket.name.removesuffix("_bucket"),
        count=count,
        mean=total / count if count > 0 else None,
        quantiles={q: quantile for q, quantile in found.items() if quantile is not None},
    )
