"""One objective with all three of its parts: what is measured, of which requests, and the limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fleet.errors import InputError
from foreslice.settings.durations import PLAUSIBLE, seconds, written

MEAN = "mean"
THROUGHPUT = "throughput"
PERCENTILES = ("p50", "p90", "p95", "p99")


@dataclass(frozen=True, slots=True)
class Objective:
    """A limit on one figure.

    Attributes:
        metric: `ttft`, `itl`, `e2e` (at most the limit) or `throughput` (at least).
        statistic: Percentile of requests, such as `p99`, or `mean`; empty for a throughput.
        limit: In seconds; for a throughput in requests/s.
    """

    metric: str
    statistic: str
    limit: float

    @property
    def is_ours(self) -> bool:
        """Whether settings can hold it: a percentile of a latency."""
        return self.metric != THROUGHPUT and self.statistic in PERCENTILES

    @property
    def written(self) -> str:
        """How settings say it, such as `ttft: {p99: 200ms}`."""
        return f"{self.metric}: {{{self.statistic}: {written(self.limit)}}}"

    def __str__(self) -> str:
        if self.metric == THROUGHPUT:
            return f"throughput >= {self.limit:g} requests/s"
        return f"{self.metric} {self.statistic} <= {written(self.limit)}"


@dataclass(frozen=True, slots=True)
class Objectives:
    """What must hold of one workload or class, all of it at once, and what else was said with it.

    Attributes:
        of: Objectives.
        floor: Fewest replicas, `None` = not said.
        gpu_budget: Most cards, `None` = not said.
        interval_s: Seconds between two decisions, `None` = not said.
        only_advises: Whether nothing is to be done by itself.
        warnings: What was left out or must be known, one line each.
    """

    of: tuple[Objective, ...]
    floor: int | None = None
    gpu_budget: int | None = None
    interval_s: float | None = None
    only_advises: bool = False
    warnings: tuple[str, ...] = ()


def latency(metric: str, statistic: str, limit_s: float, said: str) -> Objective:
    """Return an objective on a latency.

    Args:
        metric: `ttft`, `itl` or `e2e`.
        statistic: Percentile of requests, or `mean`.
        limit_s: The limit.
        said: How it was written, for the error.

    Raises:
        InputError: No such latency is that short or that long: the unit is another one.
    """
    low, high = PLAUSIBLE[metric]
    if not seconds(low) <= limit_s <= seconds(high):
        raise InputError(
            f"would be {limit_s * 1000:g} ms; expected between {low} and {high}",
            where=said,
            fix="look at its unit",
        )
    return Objective(metric, statistic, limit_s)


def joint_share(shares: Sequence[float]) -> tuple[float, float]:
    """Return the least and the largest share of requests that meet all objectives, of those that meet each.

    Histograms of single figures say no more: which requests miss one and which another is not in them
    (M. Fréchet, 1935, on the joint probability of events).
    """
    return max(0.0, 1.0 - sum(1.0 - share for share in shares)), min(shares)
