"""What a batching server sustains, against a server simulated request by request."""

import numpy as np
import pytest

from capacity.classic import BatchSustained, BatchTime, sustained_batches
from fleet.boards import A100_80GB
from fleet.shape import Shape, slice_of
from fleet.workload import LatencyTarget

RESNET, BERT, LONE = BatchTime(2.0, 0.35), BatchTime(4.0, 2.0), BatchTime(10.0, 0.0)


def latencies_ms(time, limit, rate_per_s, count=20_000):
    """Latencies at a server that takes what waits, up to `limit`, whenever it is free."""
    arrivals = np.cumsum(np.random.default_rng(7).exponential(1000 / rate_per_s, count))
    done, free_at, first = np.empty(count), 0.0, 0
    while first < count:
        start = max(free_at, arrivals[first])
        waiting = int(np.searchsorted(arrivals, start, side="right")) - first
        batch = min(waiting, limit)
        free_at = start + time.fixed_ms + time.per_request_ms * batch
        done[first : first + batch] = free_at
        first += batch
    return done - arrivals


@pytest.mark.parametrize("quantile", [0.90, 0.95, 0.99])
@pytest.mark.parametrize(
    ("time", "limit_s"), [(RESNET, 0.010), (RESNET, 0.050), (BERT, 0.020), (BERT, 0.200), (LONE, 0.025)]
)
def test_what_is_sustained_keeps_the_target(time, limit_s, quantile):
    sustained = sustained_batches(time, 32, LatencyTarget(quantile, limit_s))

    within = latencies_ms(time, sustained.batch, sustained.requests_per_s) <= 1000 * limit_s
    assert quantile - 0.01 <= within.mean()


def test_the_rate_by_hand():
    """Batches of 25 take 10.75 ms, and 2 x 10.75 < 22; 0.70 x 25 requests come meanwhile."""
    sustained = sustained_batches(RESNET, 25, LatencyTarget(0.90, 0.022))

    assert BatchSustained(pytest.approx(0.70 * 25 / 0.01075), 25) == sustained


def test_batches_that_are_held_back_leave_less_time():
    target = LatencyTarget(0.95, 0.020)

    fast, held = (sustained_batches(RESNET, 64, target, queue_delay_ms=delay) for delay in (0.0, 5.0))
    assert held.batch < fast.batch
    assert held.requests_per_s < fast.requests_per_s


def test_a_target_below_two_batches_of_one_cannot_be_kept():
    assert BatchSustained(0.0, 0) == sustained_batches(LONE, 8, LatencyTarget(0.95, 0.0199))


@pytest.mark.parametrize("quantile", [0.5, 0.9, 0.95, 0.99])
def test_a_looser_target_never_carries_less(quantile):
    rates = [
        sustained_batches(BERT, 16, LatencyTarget(quantile, limit_ms / 1000)).requests_per_s
        for limit_ms in range(5, 120, 5)
    ]

    assert sorted(rates) == rates
    assert 0 == rates[0] < rates[-1]


def test_a_slice_takes_longer_by_its_multiprocessors():
    """42 of 108: (108 / 42)^0.85 = 2.23 times as long."""
    sliced = RESNET.on(slice_of(A100_80GB, Shape("a100-80gb", "3g.40gb")))

    assert 2.0 * 2.232 == pytest.approx(sliced.fixed_ms, rel=1e-3)
    assert 0.35 * 2.232 == pytest.approx(sliced.per_request_ms, rel=1e-3)
    assert RESNET == RESNET.on(slice_of(A100_80GB, Shape("a100-80gb")))
