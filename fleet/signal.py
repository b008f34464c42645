"""The normalised signals of an inference engine, with their units."""

from __future__ import annotations

from enum import StrEnum


class Signal(StrEnum):
    """One normalised series of one pod; the member's value is its name in foreslice."""

    COMPLETIONS = "completions"
    PROMPT_TOKENS = "prompt_tokens"
    OUTPUT_TOKENS = "output_tokens"
    WAITING = "waiting"
    RUNNING = "running"
    KV_USE = "kv_use"
    TTFT_SUM = "ttft_sum"
    TTFT_COUNT = "ttft_count"

    @property
    def is_counter(self) -> bool:
        """Whether only its increase means something (it restarts at zero with its pod)."""
        return self not in {Signal.WAITING, Signal.RUNNING, Signal.KV_USE}

    @property
    def unit(self) -> str:
        """Unit of the readings."""
        return _UNITS[self]


_UNITS = {
    Signal.COMPLETIONS: "requests",
    Signal.PROMPT_TOKENS: "tokens",
    Signal.OUTPUT_TOKENS: "tokens",
    Signal.WAITING: "requests",
    Signal.RUNNING: "requests",
    Signal.KV_USE: "ratio",
    Signal.TTFT_SUM: "s",
    Signal.TTFT_COUNT: "requests",
}
