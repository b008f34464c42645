"""`foreslice metrics inspect`: a scrape from a file or an address, for people and for scripts."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import requests
import typer

from fleet.errors import InputError, UnavailableError
from foreslice.settings.engines import engines_of
from foreslice.settings.load import load
from foreslice.settings.sources import PrometheusMetrics
from predictor.copies import SCRAPER_LABELS
from predictor.inspection.devices import Devices
from predictor.inspection.inspect import Inspection, inspected
from predictor.inspection.producers import Producer
from predictor.inspection.quantiles import Quantile
from predictor.inspection.reading import Reading
from predictor.inspection.scrape import parsed

AUTO = "auto"

STANDARD_INPUT = "-"

TIMEOUT_S = 30.0


def inspect(source: str, engine: str, config: Path | None, *, is_json: bool) -> None:
    """Print what a scrape says.

    Args:
        source: Path of a file, `-` for standard input, or an address that is asked once.
        engine: Name of the engine whose series these are, `auto` = as their names show.
        config: Settings file that describes more engines, and says which labels are a scraper's.
        is_json: Whether a script reads it.

    Raises:
        InputError: The text is no scrape, or the engine is not known.
        UnavailableError: The address does not answer.
    """
    settings = None if config is None else load(config)
    engines = engines_of({} if settings is None else settings.engines)
    scraper_labels = SCRAPER_LABELS
    if settings is not None and isinstance(settings.metrics, PrometheusMetrics):
        scraper_labels = settings.metrics.replica_labels
    if engine not in {AUTO, *engines}:
        raise InputError(
            f"no engine {engine!r} is known", where="--engine", fix=f"name {', '.join((AUTO, *engines))}"
        )
    scrape = parsed(_text(source), source)
    told = inspected(scrape, engines.values(), engines.get(engine), scraper_labels)
    typer.echo(json.dumps(as_json(told), indent=2, allow_nan=False) if is_json else "\n".join(as_text(told)))


def _text(source: str) -> str:
    if source == STANDARD_INPUT:
        return sys.stdin.read()
    if source.startswith(("http://", "https://")):
        return _answer(source)
    try:
        return Path(source).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror})", where=source, fix="give a file, an http address, or -"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            "is not UTF-8 text", where=source, fix="give what an engine answers at /metrics"
        ) from error


def _answer(url: str) -> str:
    try:
        response = requests.get(url, timeout=TIMEOUT_S, headers={"Accept": "text/plain, application/json"})
    except requests.RequestException as error:
        raise UnavailableError(f"{url}: does not answer ({type(error).__name__})") from error
    is_json = "json" in response.headers.get("Content-Type", "")
    if not response.ok and not is_json:
        raise UnavailableError(f"{url}: answers HTTP {response.status_code}")
    return response.text


def as_json(told: Inspection) -> dict[str, Any]:
    """Return an inspection in the words of docs/reference.md; what nobody knows is null or not there."""
    return {
        "form": told.scrape.form,
        "is_complete": told.is_complete,
        "infos": list(told.scrape.infos),
        "producers": [_producer(one) for one in told.producers],
        **_devices(told.devices),
        "answers": [{"labels": dict(labels), "value": _number(value)} for labels, value in told.answers],
        "answers_sum": _number(sum(value for _, value in told.answers)) if told.answers else None,
        "doubtful": list(told.doubtful),
        "notes": list(told.devices.notes),
        "ignored_series": told.ignored,
    }


def _producer(one: Producer) -> dict[str, Any]:
    return {
        "engine": one.engine.name,
        "title": one.engine.title,
        "role": one.engine.role,
        "version": one.version or None,
        **one.labels,
        "offered": None
        if one.offered is None
        else {"value": one.offered[0], "unit": "requests", "counted": one.offered[1]},
        "signals": {signal: _reading(reading, signal.unit) for signal, reading in one.signals.items()},
        "distributions": {
            distribution: {
                "unit": distribution.unit,
                "series": histogram.series,
                "count": histogram.count,
                "mean": histogram.mean,
                "quantiles": {_percentile(q): _quantile(one) for q, one in histogram.quantiles.items()},
            }
            for distribution, histogram in one.distributions.items()
        },
        "stand_ins": {
            missing: {"unit": missing.unit, "at_most": {_percentile(q): value for q, value in bounds.items()}}
            for missing, bounds in one.stand_ins.items()
        },
        "absent": dict(one.absent),
        "doubtful": list(one.doubtful),
        "notes": list(one.notes),
    }


def _devices(told: Devices) -> dict[str, Any]:
    return {
        "devices": [
            {
                "exporter": device.exporter.name,
                "node": device.node or None,
                "card": device.card,
                "slice": device.slice or None,
                "profile": device.profile or None,
                "tenants": list(device.tenants),
                "signals": {
                    signal: _reading(reading, signal.unit) for signal, reading in device.signals.items()
                },
            }
            for device in told.devices
        ],
        "cards": [
            {
                "node": card.node or None,
                "card": card.card,
                "signals": {
                    signal: _reading(reading, signal.unit) for signal, reading in card.signals.items()
                },
            }
            for card in told.cards
        ],
    }


def _reading(reading: Reading, unit: str) -> dict[str, Any]:
    told: dict[str, Any] = {"value": reading.value, "unit": unit, "series": list(reading.series)}
    if reading.increase is not None:
        told |= {
            "increase": reading.increase,
            "over_s": reading.over_s,
            "per_s": reading.increase / reading.over_s,
            "resets": reading.resets,
        }
    return told


def _quantile(quantile: Quantile) -> dict[str, Any]:
    return {
        "value": quantile.value,
        "low": quantile.low,
        "high": _number(quantile.high),
        "is_censored": quantile.is_censored,
    }


def _percentile(q: float) -> str:
    return f"p{100 * q:g}"


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def as_text(told: Inspection) -> Iterator[str]:
    """Yield an inspection line by line, for people."""
    yield f"{told.scrape.form}, {'complete' if told.is_complete else 'INCOMPLETE'}"
    for one in told.producers:
        yield from _producer_lines(one)
    for device in told.devices.devices:
        where = " ".join(part for part in (device.node, device.card, device.slice, device.profile) if part)
        yield f"\n{device.exporter.title} {where}: {', '.join(device.tenants) or 'free'}"
        yield from _reading_lines(device.signals)
    for card in told.devices.cards:
        yield f"\ncard {card.node} {card.card}".rstrip()
        yield from _reading_lines(card.signals)
    if told.answers:
        total = sum(value for _, value in told.answers)
        yield f"\n{len(told.answers)} results of an expression, together {total:g}"
    yield from (f"\ndoubtful: {line}" for line in told.doubtful)
    yield from (f"\nnote: {line}" for line in told.devices.notes)
    if told.ignored:
        yield f"\n{told.ignored} series carry nothing that is read"


def _producer_lines(one: Producer) -> Iterator[str]:
    version = f" {one.version}" if one.version else ""
    labels = " ".join(f"{meaning}={value}" for meaning, value in one.labels.items())
    yield f"\n{one.engine.title}{version} ({one.engine.role}) {labels}".rstrip()
    if one.offered is not None:
        yield f"  {'offered':18} {one.offered[0]:<12g} requests, counted: {one.offered[1]}"
    yield from _reading_lines(one.signals)
    for distribution, histogram in one.distributions.items():
        mean = "-" if histogram.mean is None else f"{histogram.mean:.4g}"
        found = ", ".join(
            f"{_percentile(q)} {'>= ' if quantile.is_censored else ''}{quantile.value:.4g}"
            for q, quantile in histogram.quantiles.items()
        )
        told = f"mean {mean}, {found or 'no quantiles'} {distribution.unit}"
        yield f"  {distribution:18} {told}  {histogram.series}"
    for missing, bounds in one.stand_ins.items():
        found = ", ".join(f"{_percentile(q)} <= {value:.4g}" for q, value in bounds.items())
        yield f"  {missing:18} not measured; {found} {missing.unit}"
    yield from (f"  {name:18} absent: {why}" for name, why in one.absent.items())
    yield from (f"  doubtful: {line}" for line in one.doubtful)
    yield from (f"  note: {line}" for line in one.notes)


def _reading_lines(signals: Mapping[Any, Reading]) -> Iterator[str]:
    for signal, reading in signals.items():
        grown = ""
        if reading.increase is not None:
            grown = f" (+{reading.increase:g} in {reading.over_s:g} s)"
        yield f"  {signal:18} {reading.value:<12g} {signal.unit}{grown}  {', '.join(reading.series)}"
