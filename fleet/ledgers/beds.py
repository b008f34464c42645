"""Memory of a standby pool: what engines take of the device and of the host, awake and asleep.

At level 1 an engine's weights are copied to host memory and its KV cache is dropped (vLLM,
docs/features/sleep_mode.md). Its context stays on the device: a 30B model left 1.14 GiB of each card on vLLM
0.13, and 16 on 0.14, where sleeping freed little (vllm-project/vllm issue 32714). The host's copy stays while
it is awake (issue 16663).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

CONTEXT_GIB = 1.2
"""Device memory of a sleeping engine, prior; a measured value takes its place."""

ENOUGH = 10
"""Readings after which the highest of them stands for a prior that is above it."""


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


@dataclass(frozen=True, slots=True)
class Highest:
    """The most that readings of one thing came to.

    Attributes:
        readings: How many there were.
        gib: The highest of them.
    """

    readings: int = 0
    gib: float = 0.0

    def plus(self, other: Highest) -> Highest:
        """Return the highest of both."""
        return Highest(self.readings + other.readings, max(self.gib, other.gib))

    def instead_of(self, prior_gib: float) -> float:
        """Return what is reckoned with: never less than was read, nor than the prior while that is little."""
        return self.gib if self.readings >= ENOUGH else max(self.gib, prior_gib)


@dataclass(frozen=True, slots=True)
class Measured:
    """What engines were read to take while they slept.

    Attributes:
        host: Of their nodes' memory.
        context: Of the device.
        at_s: When they were last read, seconds since the epoch.
    """

    host: Highest = Highest()
    context: Highest = Highest()
    at_s: float = 0.0

    def plus(self, other: Measured) -> Measured:
        """Return the highest of both."""
        return Measured(
            self.host.plus(other.host), self.context.plus(other.context), max(self.at_s, other.at_s)
        )

    def of(self, prior: Bed) -> Bed:
        """Return a bed with what was read in place of priors.

        The weights lie in host memory for certain, whatever a counter sees of memory that is pinned for the
        device: of the host a prior is never undercut.
        """
        return replace(
            prior,
            host_gib=max(prior.host_gib, self.host.gib),
            context_gib=self.context.instead_of(prior.context_gib),
        )


def share_for_one_awake(memory_gib: float, sleepers: int, context_gib: float = CONTEXT_GIB) -> float:
    """Return the share of a slice's memory that one engine may take while all the others sleep on it."""
    return max(0.0, 1.0 - (sleepers - 1) * context_gib / memory_gib)
