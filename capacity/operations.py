"""The operating points at which a workload's engines were seen: merged where alike, forgotten after a day.

A day at one load would otherwise outweigh the one hour at another, and an engine of last month the present
one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from capacity.fit import Point
from capacity.law import Law
from fleet.demand import Mix
from fleet.shape import Shape

ITL_WIDTH, TTFT_WIDTH = 0.05, 0.20
"""Points whose latencies, as the prior has them, fall into the same 5 and 20 % are one operating point."""

MEMORY_S = 86400.0
"""How long an operating point counts after it was last seen."""

WEIGHT = 30
"""Windows that the mean of an operating point goes back to, about: what is newer slowly replaces it."""


@dataclass(frozen=True, slots=True)
class _Seen:
    point: Point
    windows: int
    at_s: float


class Operations:
    """Merges points as they come."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Shape, int, int, bool], _Seen] = {}

    def add(self, point: Point, prior: Law, at_s: float) -> None:
        """Take in a point of a shape with this prior law, seen at a time in seconds."""
        mix = point.mix
        key = (
            point.shape,
            round(math.log(prior.itl_ms(mix.prompt_tokens, mix.output_tokens, point.batch)) / ITL_WIDTH),
            round(math.log(prior.ttft_ms(mix.prompt_tokens, mix.output_tokens, point.batch)) / TTFT_WIDTH),
            point.ttft_ms is None,
        )
        old = self._seen.get(key)
        windows = 1 if old is None else min(old.windows + 1, WEIGHT)
        merged = point if old is None else _merged(old.point, point, 1 / windows)
        self._seen[key] = _Seen(merged, windows, at_s)

    def points(self, at_s: float) -> tuple[Point, ...]:
        """Return the points that still count at a time."""
        self._seen = {key: seen for key, seen in self._seen.items() if seen.at_s > at_s - MEMORY_S}
        return tuple(seen.point for seen in self._seen.values())


def _merged(old: Point, new: Point, share: float) -> Point:
    """Return the mean of both, of which `share` is the new one's; requests add up as far as they weigh."""

    def mean(a: float, b: float) -> float:
        return a + (b - a) * share

    ttft_ms = None if old.ttft_ms is None or new.ttft_ms is None else mean(old.ttft_ms, new.ttft_ms)
    itl_ms = None if old.itl_ms is None or new.itl_ms is None else mean(old.itl_ms, new.itl_ms)
    return replace(
        new,
        mix=Mix(
            mean(old.mix.prompt_tokens, new.mix.prompt_tokens),
            mean(old.mix.output_tokens, new.mix.output_tokens),
        ),
        batch=mean(old.batch, new.batch),
        itl_ms=itl_ms,
        ttft_ms=ttft_ms,
        requests=old.requests * (1 - share) + new.requests,
    )
