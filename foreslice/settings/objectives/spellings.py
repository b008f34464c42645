"""Spellings of objectives: GuideLLM's wording, inference-perf's fields, Dynamo's planner, WVA's classes.

Dynamo's planner and WVA write bare numbers: milliseconds, compared with means of a window
(ai-dynamo/dynamo components/src/dynamo/planner/config; llm-d-workload-variant-autoscaler docs).
GuideLLM words a limit and a percentile (docs/guides/service_level_objectives.md), inference-perf puts metric,
percentile and unit into a name (kubernetes-sigs/inference-perf, `slos`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from fleet.errors import InputError
from foreslice.settings.durations import seconds
from foreslice.settings.objectives.objective import (
    MEAN,
    PERCENTILES,
    THROUGHPUT,
    Objective,
    Objectives,
    latency,
)

_METRICS = {
    "ttft": "ttft",
    "time_to_first_token": "ttft",
    "itl": "itl",
    "tpot": "itl",
    "inter_token_latency": "itl",
    "time_per_output_token": "itl",
    "e2e": "e2e",
    "latency": "e2e",
    "request latency": "e2e",
    "request_latency": "e2e",
}
_LINE = re.compile(
    r"(?P<metric>[a-z][a-z_ 0-9]*?)\s*(?:<=|≤|<)\s*(?P<limit>\d+(?:\.\d+)?\s*(?:ms|s|m))"
    r"\s*(?:for\s+)?(?:p)?(?P<percentile>\d{2})\s*(?:%\s*of\s+requests)?",
    re.IGNORECASE,
)
_RATE = re.compile(r"throughput\s*(?:>=|≥|>)\s*(?P<rate>\d+(?:\.\d+)?)\s*req(?:uests)?/s", re.IGNORECASE)
_FIELD = re.compile(r"(?P<metric>[a-z0-9_]+?)_(?P<statistic>p\d\d|mean)_(?P<unit>ms|s)")

PLANNER_KEYS = {"ttft", "itl", "optimization_target", "throughput_adjustment_interval", "max_gpu_budget"}
CLASS_KEYS = {"slo-ttft", "slo-tpot"}


def of_lines(lines: Iterable[str]) -> tuple[Objective, ...]:
    """Return what GuideLLM's wording says, such as `TTFT <= 200ms p99`; `InputError` for what it does not."""
    return tuple(_of_line(line.strip()) for line in lines)


def of_fields(fields: Mapping[str, Any]) -> tuple[Objective, ...]:
    """Return what names such as inference-perf's `ttft_p99_ms` say; `InputError` for what they do not."""
    return tuple(_of_field(name, limit) for name, limit in fields.items())


def of_planner(document: Mapping[str, Any]) -> Objectives:
    """Return what a configuration of Dynamo's planner says: means, in milliseconds.

    Raises:
        InputError: A figure that is no number, or would be implausible as milliseconds.
    """
    goal = document.get("optimization_target", "sla")
    found: tuple[Objective, ...] = ()
    warnings = []
    if goal == "sla":
        found = tuple(_mean_ms(key, document[key]) for key in ("ttft", "itl") if key in document)
    elif {"ttft", "itl"} & document.keys():
        warnings.append(f"ttft and itl are ignored there: optimization_target is {goal}")
    return Objectives(
        found,
        floor=_whole(document, "min_endpoint"),
        gpu_budget=_whole(document, "max_gpu_budget"),
        interval_s=_number_at(document, "throughput_adjustment_interval"),
        only_advises=document.get("scaling_mode") == "advisory" or bool(document.get("advisory")),
        warnings=tuple(warnings),
    )


def of_class(entry: Mapping[str, Any]) -> Objectives:
    """Return what a model's entry in a service class of WVA says: means, in milliseconds."""
    names = {"slo-ttft": "ttft", "slo-tpot": "itl"}
    return Objectives(tuple(_mean_ms(key, entry[key], names[key]) for key in names if key in entry))


def _of_line(line: str) -> Objective:
    if rate := _RATE.fullmatch(line):
        return Objective(THROUGHPUT, "", float(rate["rate"]))
    match = _LINE.fullmatch(line)
    metric = _METRICS.get(match["metric"].lower(), "") if match else ""
    if match is None or not metric:
        raise InputError("is no objective that is known", where=line, fix="write it as `TTFT <= 200ms p99`")
    return latency(metric, _percentile(f"p{match['percentile']}", line), seconds(match["limit"]), line)


def _of_field(name: str, limit: object) -> Objective:
    match = _FIELD.fullmatch(name)
    metric = _METRICS.get(match["metric"], "") if match else ""
    if match is None or not metric:
        raise InputError("is no objective that is known", where=name, fix="write it as ttft_p99_ms")
    said = f"{name}: {limit}"
    limit_s = _number(limit, said) / (1000 if match["unit"] == "ms" else 1)
    statistic = match["statistic"]
    return latency(metric, statistic if statistic == MEAN else _percentile(statistic, said), limit_s, said)


def _mean_ms(key: str, limit: object, metric: str = "") -> Objective:
    said = f"{key}: {limit}"
    return latency(metric or key, MEAN, _number(limit, said) / 1000, said)


def _whole(document: Mapping[str, Any], key: str) -> int | None:
    number = _number_at(document, key)
    if number is not None and not number.is_integer():
        raise InputError("is no whole number", where=f"{key}: {document[key]}", fix="write a whole number")
    return None if number is None else int(number)


def _number_at(document: Mapping[str, Any], key: str) -> float | None:
    value = document.get(key)
    return None if value is None else _number(value, f"{key}: {value}")


def _number(value: object, said: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("is no number", where=said, fix="write a number, without a unit")
    return float(value)


def _percentile(name: str, said: str) -> str:
    if name not in PERCENTILES:
        fix = f"take one of {', '.join(PERCENTILES)}"
        raise InputError(f"{name} is not held by any setting", where=said, fix=fix)
    return name
