"""A file of another tool: what it asks for, by name, and how settings would say it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from actuator.manifest import dns_label
from fleet.errors import InputError
from foreslice.settings.objectives.objective import MEAN, Objectives, joint_share
from foreslice.settings.objectives.spellings import (
    CLASS_KEYS,
    PLANNER_KEYS,
    of_class,
    of_fields,
    of_lines,
    of_planner,
)

FIX = "give one of Dynamo's planner, or of WVA, or with objectives as GuideLLM and inference-perf word them"


def read(path: Path) -> dict[str, Objectives]:
    """Return what a YAML or JSON file of another tool asks for, by workload or class.

    Raises:
        InputError: It cannot be read, is of no tool that is known, or has a figure in the wrong unit.
    """
    try:
        document = _parsed(path.read_bytes(), str(path))
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(path), fix=FIX) from error
    try:
        found = dict(_found(document, path.stem))
    except InputError as error:
        raise InputError(error.what, where=f"{path}: {error.where}", fix=error.fix) from error
    if not found:
        raise InputError("has no objectives that are known", where=str(path), fix=FIX)
    return found


def as_json(found: Mapping[str, Objectives]) -> dict[str, Any]:
    """Return objectives for scripts: limits in seconds, throughputs in requests/s."""
    return {
        name: {
            "objectives": [
                {"metric": one.metric, "statistic": one.statistic or None, "limit": one.limit}
                for one in these.of
            ],
            "floor": these.floor,
            "gpu_budget": these.gpu_budget,
            "interval_s": these.interval_s,
            "only_advises": these.only_advises,
            "warnings": list(these.warnings),
        }
        for name, these in found.items()
    }


def as_settings(found: Mapping[str, Objectives]) -> str:
    """Return `classes` of a settings file that ask for the same, with what does not fit as comments."""
    lines = ["classes:"]
    for called, these in found.items():
        name = dns_label(called)
        lines += [f"  # {name}: {note}" for note in _notes(these)]
        if keys := ", ".join(_keys(these)):
            lines.append(f"  {name}: {{{keys}}}")
    return "\n".join(lines) + "\n"


def _parsed(text: bytes | str, where: str) -> object:
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InputError("is neither YAML nor JSON", where=where, fix=FIX) from error


def _found(document: object, name: str) -> Iterator[tuple[str, Objectives]]:
    match document:
        case {"metadata": {"slos": {**fields}}} | {"slos": {**fields}}:
            yield name, Objectives(of_fields({str(key): limit for key, limit in fields.items()}))
        case {"kind": "ConfigMap", "data": {**texts}}:
            for key, text in texts.items():
                yield from _found(_parsed(str(text), str(key)), Path(str(key)).stem)
        case {"data": [*entries], **rest}:
            classes = [entry for entry in entries if isinstance(entry, dict) and CLASS_KEYS & entry.keys()]
            of = str(rest.get("name", name))
            for place, entry in enumerate(classes, 1):  # a class has objectives for each of its models
                yield (f"{of}-{entry.get('model', place)}" if len(classes) > 1 else of), of_class(entry)
        case dict() if PLANNER_KEYS & document.keys():
            yield name, of_planner(document)
        case dict():
            yield from _worded(document)


def _worded(document: Mapping[object, object]) -> Iterator[tuple[str, Objectives]]:
    """Yield what lists of lines say, and what stands deeper in a file."""
    for key, value in document.items():
        if isinstance(value, list) and all(isinstance(line, str) for line in value):
            yield str(key), Objectives(of_lines(value))
        elif isinstance(value, dict):
            yield from _found(value, str(key))


def _keys(these: Objectives) -> Iterator[str]:
    """Yield what a class of a settings file can hold."""
    if slo := ", ".join(one.written for one in these.of if one.is_ours):
        yield f"slo: {{{slo}}}"
    if these.floor:
        yield f"replicas: {{min: {these.floor}}}"
    if these.only_advises:
        yield "mode: advise"


def _notes(these: Objectives) -> Iterator[str]:
    """Yield what a person has to decide or to know."""
    for one in these.of:
        if one.statistic == MEAN:
            yield f"{one}: a mean is no percentile, as settings have; choose, e.g. {one.metric}: {{p90: ...}}"
        elif not one.is_ours:
            yield f"{one}: settings size by latency; replicas.min keeps a floor"
    shares = [int(one.statistic[1:]) / 100 for one in these.of if one.is_ours]
    if len(shares) > 1:
        low, high = joint_share(shares)
        yield f"each holds by itself, all at once for {100 * low:.4g} to {100 * high:.4g} % of requests"
    if these.gpu_budget is not None:
        yield f"at most {these.gpu_budget} cards: set replicas.max to what these are of the shape in use"
    if these.interval_s is not None:
        yield f"decides every {these.interval_s:g} s there; here loop.tick and loop.plan"
    yield from these.warnings
