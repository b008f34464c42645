"""What `vllm bench serve --save-result` (or `--append-result`: one object a line) writes.

Keys: vllm-project/vllm, `vllm/benchmarks/serve.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capacity.importers.run import Run, positive

_MS_PER_S = 1000.0


def is_vllm_bench(document: Any) -> bool:  # noqa: ANN401 -- whatever a JSON file holds
    """Return whether this is what the benchmark of vLLM writes."""
    return isinstance(document, Mapping) and {"mean_ttft_ms", "total_output_tokens"} <= document.keys()


def run(document: Mapping[str, Any], where: str) -> Run:
    """Return the run; `InputError` naming what it lacks."""

    def number(key: str) -> float:
        return positive(document, (key,), where)

    completed, itl_ms, ttft_ms = number("completed"), number("mean_itl_ms"), number("mean_ttft_ms")
    output_tokens = number("total_output_tokens")
    is_at_once = document.get("request_rate") in ("inf", None)
    most = number("max_concurrency") if document.get("max_concurrency") else None
    # Little's law: times between tokens, summed, over the time that the run took.
    resident = itl_ms / _MS_PER_S * max(output_tokens - completed, 0.0) / number("duration")
    return Run(
        prompt_tokens=number("total_input_tokens") / completed,
        output_tokens=output_tokens / completed,
        concurrency=most if is_at_once and most else resident,
        is_closed=is_at_once,
        itl_ms=itl_ms,
        ttft_ms=None if is_at_once and not most else ttft_ms,
        requests=completed,
    )
