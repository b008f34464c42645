"""From a percentile that an owner asks for to the mean that the queue model predicts.

The ratios come from an iteration-level simulation of continuous batching (chunk budget 2048, 64 places,
geometric lengths of 512 prompt and 256 output tokens) at the utilisation cap of 0.70, where the queue model
gives means of 113 ms to the first token and 31.0 ms between tokens.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_TTFT_BIAS = 399 / 113 / 3.0
"""Simulated p95 of the TTFT over the queue model's mean, over the 3.0 of an exponential: prompts that
arrive together share the token budget of an iteration, which the model does not see."""

_ITL_BIAS = 33.1 / 31.0
"""Simulated mean ITL over the queue model's: lengths vary, and long requests keep company for longer."""

_ITL_SIGMA = 0.177
"""Spread of the ITL: its p95 over its mean is 43.6 / 33.1 ms = 1.32, as of a lognormal with this sigma."""


def ttft_tail(quantile: float) -> float:
    """Return the quantile of the time to first token over the queue model's mean: an exponential tail."""
    return -_TTFT_BIAS * math.log1p(-quantile)


def itl_tail(quantile: float) -> float:
    """Return the quantile of a request's mean inter-token latency over the queue model's mean."""
    z = NormalDist().inv_cdf(quantile)
    return _ITL_BIAS * math.exp(_ITL_SIGMA * z - _ITL_SIGMA**2 / 2)
