"""The normalised signals of an engine, of a router in front of it, and of a card, with their units."""

from __future__ import annotations

from enum import StrEnum


class Signal(StrEnum):
    """One normalised series of one producer; the member's value is its name in foreslice.

    Engines and routers: every request arrives, and then is completed, fails (aborted, timed out, broken) or
    is refused (turned away because there was no room, which is demand too). What a router in front of a
    workload's engines says of that workload has names of its own: it stands further up the stream.
    """

    ARRIVALS = "arrivals"
    COMPLETIONS = "completions"
    FAILURES = "failures"
    REFUSALS = "refusals"
    ROUTER_ARRIVALS = "router_arrivals"
    ROUTER_REFUSALS = "router_refusals"
    ROUTER_WAITING = "router_waiting"
    PROMPT_TOKENS = "prompt_tokens"
    OUTPUT_TOKENS = "output_tokens"
    WAITING = "waiting"
    RUNNING = "running"
    IN_FLIGHT = "in_flight"
    REQUEST_LIMIT = "request_limit"
    KV_USE = "kv_use"
    KV_USED = "kv_used"
    KV_ROOM = "kv_room"
    TTFT_SUM = "ttft_sum"
    TTFT_COUNT = "ttft_count"
    ITL_SUM = "itl_sum"
    ITL_COUNT = "itl_count"
    GPU_USE = "gpu_use"
    GPU_MEMORY_USED = "gpu_memory_used"
    GPU_MEMORY_FREE = "gpu_memory_free"
    GPU_MEMORY_GRANTED = "gpu_memory_granted"
    GPU_COMPUTE_GRANTED = "gpu_compute_granted"
    GPU_POWER = "gpu_power"

    @property
    def is_counter(self) -> bool:
        """Whether only its increase means something (it restarts at zero with its pod)."""
        return self in _COUNTERS

    @property
    def is_ratio(self) -> bool:
        """Whether it is a share: several producers' shares add up to nothing, the fullest one counts."""
        return self.unit == "ratio"

    @property
    def unit(self) -> str:
        """Unit of the readings."""
        return _UNITS[self]


class Distribution(StrEnum):
    """One normalised histogram of one producer, over requests or over tokens.

    ITL has an observation per token that was streamed, TPOT one per request, its mean: both are right, each
    for its own objective.
    """

    TTFT = "ttft"
    ITL = "itl"
    TPOT = "tpot"
    E2E = "e2e"
    QUEUE_TIME = "queue_time"
    PREFILL_TIME = "prefill_time"
    PROMPT_LENGTH = "prompt_length"
    OUTPUT_LENGTH = "output_length"

    @property
    def unit(self) -> str:
        """Unit of what is observed."""
        return "tokens" if self in {Distribution.PROMPT_LENGTH, Distribution.OUTPUT_LENGTH} else "s"


_COUNTERS = {
    Signal.ARRIVALS,
    Signal.COMPLETIONS,
    Signal.FAILURES,
    Signal.REFUSALS,
    Signal.ROUTER_ARRIVALS,
    Signal.ROUTER_REFUSALS,
    Signal.PROMPT_TOKENS,
    Signal.OUTPUT_TOKENS,
    Signal.TTFT_SUM,
    Signal.TTFT_COUNT,
    Signal.ITL_SUM,
    Signal.ITL_COUNT,
}

_UNITS = {
    **dict.fromkeys(Signal, "requests"),
    Signal.PROMPT_TOKENS: "tokens",
    Signal.OUTPUT_TOKENS: "tokens",
    Signal.KV_USE: "ratio",
    Signal.KV_USED: "tokens or blocks",
    Signal.KV_ROOM: "tokens or blocks",
    Signal.TTFT_SUM: "s",
    Signal.ITL_SUM: "s",
    Signal.ITL_COUNT: "tokens",
    Signal.GPU_USE: "ratio",
    Signal.GPU_MEMORY_USED: "bytes",
    Signal.GPU_MEMORY_FREE: "bytes",
    Signal.GPU_MEMORY_GRANTED: "bytes",
    Signal.GPU_COMPUTE_GRANTED: "ratio",
    Signal.GPU_POWER: "W",
}
