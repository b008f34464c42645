"""Operating points out of what an engine's histograms and counters grew by in some time.

Sums of latencies are requests times time, so that with Little's law they tell how many were resident: the
growth of the inter-token latency's sum over the time it took. No gauge is needed, which would show one
moment only.
"""

from __future__ import annotations

from dataclasses import dataclass

from capacity.fit import Point
from capacity.law import resident_tokens
from capacity.replica import MAX_BATCH
from capacity.tails import ITL_BIAS, TTFT_BIAS
from fleet.demand import Mix
from fleet.shape import Shape

LEAST_REQUESTS = 20.0
"""Requests that a mean is taken over at least: with fewer, a long one of them is what it shows."""

_MS_PER_S = 1000.0


@dataclass(frozen=True, slots=True)
class Window:
    """What one replica's counters grew by.

    Attributes:
        seconds: In how long.
        itl_sum_s: Times between two tokens, summed.
        tokens: Number of those.
        ttft_sum_s: Times to first token, summed.
        first_tokens: Number of those.
        completions: Requests that ended.
        prompt_tokens: Prompt tokens computed.
        output_tokens: Tokens generated.
        is_queued: Whether requests waited for a place in the batch.
    """

    seconds: float
    itl_sum_s: float
    tokens: float
    ttft_sum_s: float
    first_tokens: float
    completions: float
    prompt_tokens: float
    output_tokens: float
    is_queued: bool

    @property
    def is_enough(self) -> bool:
        """Whether its means say something of the engine rather than of single requests."""
        counted = (self.itl_sum_s, self.tokens, self.ttft_sum_s, self.prompt_tokens, self.output_tokens)
        return min(self.first_tokens, self.completions) >= LEAST_REQUESTS and min(counted) > 0

    def joined(self, later: Window) -> Window:
        """Return this window and another one as one."""
        return Window(
            seconds=self.seconds + later.seconds,
            itl_sum_s=self.itl_sum_s + later.itl_sum_s,
            tokens=self.tokens + later.tokens,
            ttft_sum_s=self.ttft_sum_s + later.ttft_sum_s,
            first_tokens=self.first_tokens + later.first_tokens,
            completions=self.completions + later.completions,
            prompt_tokens=self.prompt_tokens + later.prompt_tokens,
            output_tokens=self.output_tokens + later.output_tokens,
            is_queued=self.is_queued or later.is_queued,
        )

    def point(self, shape: Shape, kv_tokens: float) -> Point:
        """Return the operating point of a replica whose KV cache holds `kv_tokens`.

        Means are compared with what sizing takes the means to be (`capacity.tails`), so that a law that fits
        them is one with which sizing foretells them. Where requests queued the time to first token says more
        of the queue than of the engine, and is left out.
        """
        prompt = max(self.prompt_tokens / self.first_tokens, 1.0)
        output = max(self.output_tokens / self.completions, 1.0)
        resident = self.itl_sum_s / self.seconds
        places = min(max(kv_tokens / resident_tokens(prompt, output), 1.0), MAX_BATCH)
        return Point(
            shape=shape,
            mix=Mix(prompt, output),
            # Whoever arrives at random meets all residents; in a full batch, itself is one of them.
            batch=1.0 + min(resident, places) * (1.0 - 1.0 / places),
            itl_ms=_MS_PER_S * self.itl_sum_s / self.tokens,
            ttft_ms=None if self.is_queued else _MS_PER_S * self.ttft_sum_s / self.first_tokens,
            requests=self.first_tokens,
            itl_bias=ITL_BIAS,
            ttft_bias=TTFT_BIAS,
        )
