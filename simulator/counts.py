"""What engines hold, what they have counted, and what has become of the requests of each workload."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np

from simulator.fluid import Floats

TTFT_EDGES_S = np.array(
    (
        *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0),
        *(40.0, 80.0, 160.0, 640.0, 2560.0),
    )
)
"""Upper edges of the histogram of the time to first token, seconds; the bucket above the last is open.

Source: vllm-project/vllm `vllm/v1/metrics/loggers.py`.
"""


ITL_EDGES_S = np.array(
    (
        *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0),
        *(40.0, 80.0),
    )
)
"""Likewise of the inter-token latency; from the same file."""


@dataclass(slots=True)
class PodCounts:
    """What engines hold, and what they have counted since they started; one element per pod.

    Attributes:
        running: Requests resident.
        queued: Requests waiting.
        completions: Requests served to the end.
        prompt_tokens: Prompt tokens computed.
        output_tokens: Tokens generated.
        ttft_sum_s: Times to first token, summed.
        ttft_count: Requests that got their first token.
        ttft_under: Of these, those at or under each of `TTFT_EDGES_S`, shape (pods, edges).
        itl_sum_s: Times between two tokens of a request, summed.
        itl_count: Tokens that followed another of their request.
        itl_under: Of these, those at or under each of `ITL_EDGES_S`, shape (pods, edges).
    """

    running: Floats
    queued: Floats
    completions: Floats
    prompt_tokens: Floats
    output_tokens: Floats
    ttft_sum_s: Floats
    ttft_count: Floats
    ttft_under: Floats
    itl_sum_s: Floats
    itl_count: Floats
    itl_under: Floats

    @classmethod
    def zero(cls, pods: int) -> PodCounts:
        """Return the counts of this many pods that have done nothing."""
        zeros = {field.name: np.zeros(pods) for field in fields(cls)}
        edges = {"ttft_under": TTFT_EDGES_S, "itl_under": ITL_EDGES_S}
        return cls(**{**zeros, **{name: np.zeros((pods, len(at))) for name, at in edges.items()}})

    def with_one_more(self) -> PodCounts:
        """Return the counts with a pod at the end that has done nothing."""
        return self._each(lambda values, zero: np.concatenate((values, zero)))

    def without(self, at: int) -> PodCounts:
        """Return the counts without one pod."""
        return self._each(lambda values, _: np.delete(values, at, axis=0))

    def _each(self, change: Callable[[Floats, Floats], Floats]) -> PodCounts:
        one = PodCounts.zero(1)
        return PodCounts(*(change(getattr(self, f.name), getattr(one, f.name)) for f in fields(self)))


@dataclass(slots=True)
class Tally:
    """What has become of the requests of each workload since the start, one element per workload.

    Attributes:
        offered: Requests that arrived.
        refused: Requests turned away.
        completed: Requests served to the end.
        inside: Requests inside every term of their SLO.
        within_ttft: Requests whose first token was in time; where the SLO has no such term, those served.
        within_itl: The same of the time between tokens.
        within_e2e: The same of the last token.
        cut: Requests that were being served when their pod was stopped.
        by_standby: Of those completed, the ones that engines of the standby pool served.
    """

    offered: Floats
    refused: Floats
    completed: Floats
    inside: Floats
    within_ttft: Floats
    within_itl: Floats
    within_e2e: Floats
    cut: Floats
    by_standby: Floats

    @classmethod
    def zero(cls, workloads: int) -> Tally:
        """Return the tally of this many workloads to which nothing was offered."""
        return cls(*np.zeros((len(fields(cls)), workloads)))

    def since(self, earlier: Tally) -> Tally:
        """Return what has been added since `earlier`."""
        return Tally(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))

    def copy(self) -> Tally:
        """Return a tally that does not change with this one."""
        return self.since(Tally.zero(len(self.offered)))
