"""Engines and routers in a scrape: what each says of each model, what it lacks, and what is doubtful."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fleet.demand import DemandOrigin
from fleet.signal import Distribution, Signal
from predictor.demand import MIX_REQUESTS
from predictor.engines import Engine, Role
from predictor.inspection.reading import (
    QUANTILES,
    Reading,
    Told,
    distributions,
    first_label,
    readings,
)
from predictor.inspection.scrape import Exposed
from predictor.series import is_readable
from predictor.vocabulary import Vocabulary

_PARTS = {signal for signal in Signal if signal.endswith(("_sum", "_count"))}
"""Signals that are parts of a distribution, which tells more."""


@dataclass(frozen=True, slots=True)
class Producer:
    """What one engine or router says of one model.

    Attributes:
        engine: Who exports.
        version: Its generation, empty where none is told apart.
        labels: The model, and pod and namespace where the scrape names them.
        signals: Readings by signal.
        distributions: Histograms by distribution.
        stand_ins: Upper bounds of the quantiles of a distribution that is missing, by share.
        offered: Requests offered since the counters began, and where they were counted.
        absent: Signals and distributions that it has not, with the reason.
        doubtful: What must not be believed as it stands, one line each.
        notes: What else has to be known of it, one line each.
    """

    engine: Engine
    version: str
    labels: Mapping[str, str]
    signals: Mapping[Signal, Reading]
    distributions: Mapping[Distribution, Told]
    stand_ins: Mapping[Distribution, Mapping[float, float]]
    offered: tuple[float, DemandOrigin] | None
    absent: Mapping[str, str]
    doubtful: tuple[str, ...]
    notes: tuple[str, ...]


def producers(series: Sequence[Exposed], engines: Iterable[Engine]) -> list[Producer]:
    """Return what each of these engines and routers says by model and pod, in the order of the series."""
    found = []
    for engine in engines:
        if engine.role in {Role.ENGINE, Role.ROUTER}:
            names = engine.names()
            groups: dict[tuple[tuple[str, str], ...], list[Exposed]] = {}
            for one in series:
                if one.name in names:
                    groups.setdefault(_whose(engine, one.labels), []).append(one)
            version = engine.version(one.name for one in series)
            found += [_producer(engine, version, dict(whose), group) for whose, group in groups.items()]
    return found


def _whose(engine: Engine, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    meant = engine.labels
    named = {
        "model": first_label(labels, meant.model),
        "namespace": first_label(labels, meant.namespace),
        "pod": first_label(labels, meant.pod) or labels.get("instance", ""),
    }
    return tuple((meaning, value) for meaning, value in named.items() if value)


def _producer(engine: Engine, version: str, labels: Mapping[str, str], series: Sequence[Exposed]) -> Producer:
    signals = {
        signal: reading for signal, reading in readings(series, engine).items() if signal not in _PARTS
    }
    told = distributions(series, engine)
    stand_ins = {
        missing: {q: sum(told[part].quantiles[q].value for part in parts) for q in QUANTILES}
        for missing, parts in engine.stand_ins.items()
        if missing not in told and all(part in told and told[part].quantiles for part in parts)
    }
    return Producer(
        engine=engine,
        version=version,
        labels=labels,
        signals=signals,
        distributions=told,
        stand_ins=stand_ins,
        offered=_offered(engine, signals),
        absent=dict(_absent(engine, {*signals, *told})),
        doubtful=(
            *_unreadable(engine, series),
            *_doubted_signals(signals),
            *_doubted_histograms(told),
            *_anybodys(engine),
        ),
        notes=tuple(f"{name}: {note}" for name, note in engine.notes.items() if name in {*signals, *told}),
    )


def _offered(engine: Engine, signals: Mapping[Signal, Reading]) -> tuple[float, DemandOrigin] | None:
    """Return the requests offered since the counters began: what arrived, else what ended or is in there."""
    if (arrivals := signals.get(Signal.ARRIVALS)) is not None:
        is_router = engine.role is Role.ROUTER
        return arrivals.value, DemandOrigin.ROUTER if is_router else DemandOrigin.ENGINES
    if Signal.COMPLETIONS not in signals:
        return None
    ended = (Signal.COMPLETIONS, Signal.FAILURES, Signal.REFUSALS)
    inside = (Signal.IN_FLIGHT,) if Signal.IN_FLIGHT in signals else (Signal.RUNNING, Signal.WAITING)
    return sum(signals[one].value for one in (*ended, *inside) if one in signals), DemandOrigin.ENDINGS


def _absent(engine: Engine, there: set[Signal | Distribution]) -> Iterator[tuple[str, str]]:
    for name, why in engine.missing.items():
        if name not in there:
            yield name, why
    for signal in (*engine.series, *engine.histograms):
        if signal not in {*there, *_PARTS} and signal.value not in engine.missing:
            is_lazy = engine.is_lazy and (not isinstance(signal, Signal) or signal.is_counter)
            yield (
                signal.value,
                "no series yet: it begins with the first of its kind" if is_lazy else "no series",
            )


def _unreadable(engine: Engine, series: Sequence[Exposed]) -> Iterator[str]:
    vocabulary = Vocabulary.of(engine)
    for one in series:
        if not is_readable(one.newest) and vocabulary.meaning(one.name, one.labels) is not None:
            yield f"{one.name} is {one.newest:g}: unknown, not zero"


def _doubted_signals(signals: Mapping[Signal, Reading]) -> Iterator[str]:
    for signal, reading in signals.items():
        if signal.is_ratio and reading.value > 1:
            yield f"{signal} is {reading.value:g}, above 1: a percentage wants scale 0.01"
        if reading.resets:
            yield f"{signal} began anew ({reading.resets} x): what it showed before is counted too"


def _doubted_histograms(told: Mapping[Distribution, Told]) -> Iterator[str]:
    for distribution, one in told.items():
        censored = [q for q in sorted(one.quantiles) if one.quantiles[q].is_censored]
        if censored:
            bound = one.quantiles[censored[0]].value
            yield f"{distribution} from q {censored[0]:g} on is beyond its top bucket: at least {bound:g}"
        if 0 < one.count < MIX_REQUESTS:
            yield f"{distribution} has only {one.count:g} observations"


def _anybodys(engine: Engine) -> Iterator[str]:
    if engine.needs_match:
        yield f"its names are anybody's: match {' or '.join(engine.needs_match[:3])} as well"
