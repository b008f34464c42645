"""Memory of a standby pool: what engines take of the device and of the host, awake and asleep.

At level 1 an engine's weights are copied to host memory and its KV cache is dropped (vLLM,
docs/features/sleep_mode.md). Its context stays on the device: a 30B model left 1.14 GiB of each card on vLLM
0.13, and 16 on 0.14, where sleeping freed little (vllm-project/vllm issue 32714). The host's copy stays while
it is awake (issue 16663).
"""

from __future__ import annotations

from dataclasses import dataclass

CONTEXT_GIB = 1.2
"""Device memory of a sleeping engine, prior; a measured value takes its place."""


@dataclass(frozen=True, slots=True)
class Bed:
    """What one standby engine takes, GiB.

    Attributes:
        awake_gib: Of the device while it is awake.
        host_gib: Of its node's memory from its first sleep on.
        context_gib: Of the device while it sleeps.
    """

    awake_gib: float
    host_gib: float
    context_gib: float = CONTEXT_GIB


def share_for_one_awake(memory_gib: float, sleepers: int, context_gib: float = CONTEXT_GIB) -> float:
    """Return the share of a slice's memory that one engine may take while all the others sleep on it."""
    return max(0.0, 1.0 - (sleepers - 1) * context_gib / memory_gib)
