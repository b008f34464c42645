"""From a percentile that an owner asks for to the mean that the queue model predicts.

The ratios come from an iteration-level simulation of continuous batching (chunk budget 2048, 64 places,
geometric lengths of 512 prompt and 256 output tokens) at the utilisation cap of 0.70, where the queue model
gives means of 113 ms to the first token and 31.0 ms between tokens.
"""

from __future__ import annotations

import math
from statistics import NormalDist

TTFT_BIAS = 399 / 113 / 3.0
"""Simulated p95 of the TTFT over the queue model's mean, over the 3.0 of an exponential: prompts that
arrive together share the token budget of an iteration, which the model does not see."""

ITL_BIAS = 33.1 / 31.0
"""Simulated mean ITL over the queue model's: lengths vary, and long requests keep company for longer."""

_ITL_SIGMA = 0.177
"""Spread of the ITL: its p95 over its mean is 43.6 / 33.1 ms = 1.32, as of a lognormal with this sigma."""


def ttft_tail(quantile: float) -> float:
    """Return the quantile of the time to first token over the queue model's mean: an exponential tail."""
    return -TTFT_BIAS * math.log1p(-quantile)


def itl_tail(quantile: float) -> float:
    """Return the quantile of a request's mean inter-token latency over the queue model's mean."""
    z = NormalDist().inv_cdf(quantile)
    return ITL_BIAS * math.exp(_ITL_SIGMA * z - _ITL_SIGMA**2 / 2)


def e2e_tail(quantile: float) -> float:
    """Return the quantile of the time from arrival to last token over the queue model's mean.

    How long a request stays follows the length of its output. Where that spreads like a geometric
    distribution's, simulated p50, p90, p95 and p99 are 0.70, 2.32, 3.00 and 4.65 times the model's mean at
    0.70 of the full rate: an exponential's 0.69, 2.30, 3.00 and 4.61. Outputs that spread less end sooner.
    """
    return -math.log1p(-quantile)
