"""The queue in front of an engine: arrivals at random, service that quickens with the batch.

A birth-death chain on the number of requests present (llm-inferno/queue-analysis,
`pkg/analyzer/queueanalyzer.go`), here with an unbounded queue, whose tail is summed in closed form.
With equal servers it is M/M/c.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from capacity.law import Floats


@dataclass(frozen=True, slots=True)
class Steady:
    """Long-run means, one element per queue.

    Attributes:
        wait_s: Mean wait before service, s.
        residence_s: Mean time in service, s.
    """

    wait_s: Floats
    residence_s: Floats


class BatchQueue:
    """Queues with service rates that depend on how many requests are served.

    Complexity: time and memory linear in queues x `rates_per_s.shape[1]`.
    """

    def __init__(self, rates_per_s: Floats, places: Floats) -> None:
        """Describe the queues.

        Args:
            rates_per_s: Requests/s that leave with n = 1, 2, ... present, shape (queues, states), not
                falling along a row; beyond the last column its rate holds.
            places: Requests that can be served at once, shape (queues,), at most `states`.
        """
        states = rates_per_s.shape[1]
        self._present = np.arange(states + 1, dtype=np.float64)
        self._served = np.minimum(self._present, places[:, np.newaxis])
        self._queued = self._present - self._served
        self._last_rate = rates_per_s[:, -1]
        self._log_rates = np.zeros((len(rates_per_s), states + 1))
        np.cumsum(np.log(rates_per_s), axis=1, out=self._log_rates[:, 1:])

    def at(self, arrivals_per_s: Floats) -> Steady:
        """Return the means at these arrival rates, shape (queues,), each above 0 and below the last rate."""
        log_weights = np.log(arrivals_per_s)[:, np.newaxis] * self._present - self._log_rates
        weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
        # States beyond the last column: a geometric series with ratio rho.
        rho = arrivals_per_s / self._last_rate
        tail = weights[:, -1] * rho / (1 - rho)
        served = (weights * self._served).sum(axis=1) + tail * self._served[:, -1]
        waiting = (weights * self._queued).sum(axis=1) + tail * (self._queued[:, -1] + 1 / (1 - rho))
        # Little's law, with the weights not yet divided by their sum.
        arrived = arrivals_per_s * (weights.sum(axis=1) + tail)
        return Steady(wait_s=waiting / arrived, residence_s=served / arrived)
