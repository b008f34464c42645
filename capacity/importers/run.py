"""One run of a load generator at one load, whatever wrote it down, as an operating point."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from capacity.fit import ITL_SIGMA, Point
from capacity.replica import MAX_BATCH
from fleet.demand import Mix
from fleet.errors import InputError
from fleet.shape import Shape

WHAT_IS_READ = (
    "give the JSON of GuideLLM or of `vllm bench serve --save-result`, or a CSV with columns prompt_tokens, "
    "output_tokens, concurrency, itl_ms and, if known, ttft_ms and requests"
)


CONSTANT_ITL_SIGMA = 0.01
"""Lognormal error of a mean inter-token latency at a constant load: no company that comes and goes."""


@dataclass(frozen=True, slots=True)
class Run:
    """Means over a run.

    Attributes:
        prompt_tokens: Of a request.
        output_tokens: Of a request.
        concurrency: Requests under way.
        is_closed: Whether their number was held constant, so that a request has one fewer beside it;
            otherwise they came at random, and a request meets all that are under way.
        itl_ms: Inter-token latency.
        ttft_ms: Time to first token; `None` where it is not known, or holds the wait of a start all at once.
        requests: Requests that the means are over.
    """

    prompt_tokens: float
    output_tokens: float
    concurrency: float
    is_closed: bool
    itl_ms: float
    ttft_ms: float | None
    requests: float

    def point(self, shape: Shape) -> Point:
        """Return the operating point of an engine on `shape`."""
        batch = self.concurrency if self.is_closed else 1.0 + self.concurrency
        ttft_ms = self.ttft_ms if batch <= MAX_BATCH else None
        if ttft_ms is not None and self.is_closed and self.concurrency <= 1.0:
            # A lone stream finds no iteration under way; the law's first token has waited for one.
            ttft_ms += self.itl_ms
        mix = Mix(self.prompt_tokens, self.output_tokens)
        return Point(
            shape=shape,
            mix=mix,
            batch=min(max(batch, 1.0), MAX_BATCH),
            itl_ms=self.itl_ms,
            ttft_ms=ttft_ms,
            requests=self.requests,
            itl_sigma=CONSTANT_ITL_SIGMA if self.is_closed else ITL_SIGMA,
        )


def positive(said: Mapping[str, Any], path: tuple[str, ...], where: str) -> float:
    """Return the number above zero at a path of keys; `InputError` naming the path if there is none."""
    found: Any = said
    for key in path:
        found = found.get(key) if isinstance(found, Mapping) else None
    try:
        number = float(found)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 < number < math.inf:
        raise InputError(
            f"has no number above zero at {'.'.join(path)} (is {found!r})", where=where, fix=WHAT_IS_READ
        )
    return number
