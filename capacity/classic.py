"""Models that answer a batch at once (vision, embedding, speech), behind a server that batches what waits.

A batch of b requests takes a fixed time and a time for each. While one is computed the next gathers: a
request waits for the rest of the batch that it meets, and then stays as long as its own (dynamic batching of
Triton Inference Server).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import pdtri

from capacity.prior import SM_EXPONENT
from capacity.sustained import UTILISATION_CAP
from fleet.shape import Slice
from fleet.workload import LatencyTarget


@dataclass(frozen=True, slots=True)
class BatchTime:
    """How long a batch takes.

    Attributes:
        fixed_ms: Whatever its size.
        per_request_ms: For each request in it.
    """

    fixed_ms: float
    per_request_ms: float

    def on(self, hardware: Slice) -> BatchTime:
        """Return the time on part of the card that it was measured on: compute as in the slice law."""
        slower = hardware.sm_share**-SM_EXPONENT
        return BatchTime(self.fixed_ms * slower, self.per_request_ms * slower)


@dataclass(frozen=True, slots=True)
class BatchSustained:
    """What one model instance carries.

    Attributes:
        requests_per_s: Largest rate inside the target, 0 if there is none.
        batch: Largest batch that it may gather then (`max_batch_size`), 0 if none keeps the target.
    """

    requests_per_s: float
    batch: int


def sustained_batches(
    time: BatchTime, max_batch: int, target: LatencyTarget, *, queue_delay_ms: float = 0.0
) -> BatchSustained:
    """Return what an instance sustains at the batch limit that suits the target best.

    The limit keeps two batches and the delay inside the target, the one that is met and the request's own;
    the rate is such that what comes while one is computed fits into the next, for the share of requests that
    the target names and half of the others. Besides, utilisation keeps its cap.

    Args:
        time: How long a batch takes on the shape.
        max_batch: Largest batch that the model takes, at least 1.
        target: Latency from arrival to answer.
        queue_delay_ms: How long a batch that is not full may be held back (`max_queue_delay_microseconds`).
    """
    sizes = np.arange(1, max_batch + 1)
    batch_ms = time.fixed_ms + time.per_request_ms * sizes
    is_kept = queue_delay_ms + 2 * batch_ms <= 1000 * target.limit_s
    arrivals = np.minimum(pdtri(sizes, (1 + target.quantile) / 2), UTILISATION_CAP * sizes)
    rates = np.where(is_kept, 1000 * arrivals / batch_ms, 0.0)
    best = int(rates.argmax())
    return BatchSustained(float(rates[best]), int(sizes[best]) if rates[best] > 0 else 0)
