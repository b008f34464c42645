"""Quantiles out of a Prometheus histogram, and where they are only a bound.

As `histogram_quantile` reckons them for classic histograms (prometheus: promql/quantile.go, bucketQuantile):
linear inside a bucket, from 0 in the lowest. In the top bucket, which has no upper bound, the highest finite
bound is returned: the true quantile is at least that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Quantile:
    """A quantile as far as the buckets tell it.

    Attributes:
        value: Interpolated inside its bucket, or the highest finite bound.
        low: Lower bound of its bucket.
        high: Upper bound of its bucket, infinite in the top one.
    """

    value: float
    low: float
    high: float

    @property
    def is_censored(self) -> bool:
        """Whether it lies in the top bucket, so that the value is a lower bound."""
        return math.isinf(self.high)


def quantile_of(q: float, buckets: Mapping[float, float]) -> Quantile | None:
    """Return the q-quantile, 0 < q <= 1, `None` where nothing was observed or no bucket has a bound.

    Args:
        q: Share of observations at or below the quantile.
        buckets: Observations at or below each upper bound, infinity among them. Counts that fall with a
            rising bound, as scrapes of several pods at several moments give them, are taken as flat.
    """
    bounds = sorted(buckets)
    counts = list(accumulate((buckets[bound] for bound in bounds), max))
    if len(bounds) <= 1 or not math.isinf(bounds[-1]) or not counts[-1] > 0:
        return None
    rank = q * counts[-1]
    at = next(at for at, count in enumerate(counts) if count >= rank)
    if math.isinf(bounds[at]):
        return Quantile(bounds[-2], bounds[-2], math.inf)
    low = bounds[at - 1] if at else min(0.0, bounds[0])
    under = counts[at - 1] if at else 0.0
    share = (rank - under) / (counts[at] - under)
    return Quantile(low + (bounds[at] - low) * share, low, bounds[at])
