"""Which series an inference engine exports for each signal: data, one row per signal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fleet.signal import Signal


@dataclass(frozen=True, slots=True)
class Engine:
    """The series of one inference engine.

    Attributes:
        name: What people call the engine.
        series: By signal: its series' names, newest first. An engine on the way from one name to the next
            exports both with the same readings, so that only the first that a pod has is counted.
    """

    name: str
    series: Mapping[Signal, tuple[str, ...]] = field(hash=False)

    def signals(self) -> dict[str, tuple[Signal, int]]:
        """Return by series name: the signal that it carries and the rank of the name, 0 = newest."""
        return {
            name: (signal, rank) for signal, names in self.series.items() for rank, name in enumerate(names)
        }


# vllm-project/vllm: vllm/engine/metrics.py (v0) and vllm/v1/metrics/loggers.py (v1). PR 18354 renamed the KV
# gauge in v0.9; both names are exported until the old one is removed, and PR 15458 says when that is.
VLLM = Engine(
    name="vLLM",
    series=MappingProxyType(
        {
            Signal.COMPLETIONS: ("vllm:request_success_total",),
            Signal.PROMPT_TOKENS: ("vllm:prompt_tokens_total",),
            Signal.OUTPUT_TOKENS: ("vllm:generation_tokens_total",),
            Signal.WAITING: ("vllm:num_requests_waiting",),
            Signal.RUNNING: ("vllm:num_requests_running",),
            Signal.KV_USE: ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
            Signal.TTFT_SUM: ("vllm:time_to_first_token_seconds_sum",),
            Signal.TTFT_COUNT: ("vllm:time_to_first_token_seconds_count",),
        }
    ),
)
