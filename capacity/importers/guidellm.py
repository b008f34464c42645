"""GuideLLM's `benchmarks.json`: one run for each load of a sweep.

Keys: vllm-project/guidellm, `src/guidellm/benchmark/schemas/generative` (0.4 and later); before that, the
strategy stood under `args` instead of `config`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capacity.importers.run import Run, positive

_CLOSED = ("synchronous", "concurrent", "throughput")
"""Strategies that hold the number of requests under way; the others let them come at a rate."""


def is_guidellm(document: Any) -> bool:  # noqa: ANN401 -- whatever a JSON file holds
    """Return whether this is what GuideLLM writes."""
    return isinstance(document, Mapping) and isinstance(document.get("benchmarks"), list)


def runs(document: Mapping[str, Any], where: str) -> list[Run]:
    """Return the runs in a report; `InputError` naming what one lacks."""
    return [
        _run(benchmark, f"{where}: benchmark {number}")
        for number, benchmark in enumerate(document["benchmarks"], start=1)
    ]


def _run(benchmark: Mapping[str, Any], where: str) -> Run:
    def mean(metric: str) -> float:
        return positive(benchmark, ("metrics", metric, "successful", "mean"), where)

    strategy = _strategy(benchmark)
    kind = strategy.get("type_")
    streams = positive(strategy, ("streams",), where) if "streams" in strategy else None
    return Run(
        prompt_tokens=mean("prompt_token_count"),
        output_tokens=mean("output_token_count"),
        concurrency=streams or mean("request_concurrency"),
        is_closed=kind in _CLOSED,
        itl_ms=mean("inter_token_latency_ms"),
        ttft_ms=None if kind == "throughput" else mean("time_to_first_token_ms"),
        requests=positive(benchmark, ("metrics", "request_latency", "successful", "count"), where),
    )


def _strategy(benchmark: Mapping[str, Any]) -> Mapping[str, Any]:
    groups = [benchmark.get(group) for group in ("config", "args")] if isinstance(benchmark, Mapping) else []
    strategies = [group.get("strategy") for group in groups if isinstance(group, Mapping)]
    return next((strategy for strategy in strategies if isinstance(strategy, Mapping)), {})
