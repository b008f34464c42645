"""The shipped tenants: sizes drawn by seed inside their range, traffic that keeps its shape."""

import numpy as np
import pytest

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import Mix
from simulator.tenants import LARGEST_PEAK, LEAST_PEAK, shipped_tenants
from simulator.traces import shipped_traces


@pytest.fixture(scope="module")
def capacity():
    return CapacityModel([H100_80GB])


@pytest.fixture(scope="module")
def tenants(capacity):
    return shipped_tenants(capacity, seed=1)


def peak(capacity, one):
    work = capacity.work(one.workload, one.requests_per_s, one.prompt_tokens, one.output_tokens)
    return float(np.quantile(work, 0.999))


def test_every_client_is_one_tenant(tenants):
    assert set(shipped_traces()) == {one.client for one in tenants}
    assert 8 == len({one.workload.key for one in tenants})


def test_every_kind_of_traffic_is_there(tenants):
    assert {"steady", "daily", "drifting", "switching", "spiking"} == {one.kind for one in tenants}


def test_sizes_are_within_their_range_and_differ(capacity, tenants):
    peaks = [peak(capacity, one) for one in tenants]
    assert LEAST_PEAK <= min(peaks) < 0.6 < max(peaks) <= LARGEST_PEAK


def test_sizes_are_spread_log_uniformly(capacity):
    """Mean of the logarithm is that of the range's ends, and both ends are come close to."""
    sizes = [peak(capacity, one) for seed in range(12) for one in shipped_tenants(capacity, seed)]
    assert pytest.approx(np.log([LEAST_PEAK, LARGEST_PEAK]).mean(), abs=0.15) == np.log(sizes).mean()
    assert min(sizes) < 1.1 * LEAST_PEAK
    assert 0.95 * LARGEST_PEAK < max(sizes)


def test_another_seed_draws_other_sizes_and_the_same_gives_the_same(capacity, tenants):
    first = [one.requests_per_s.sum() for one in tenants]
    assert first == [one.requests_per_s.sum() for one in shipped_tenants(capacity, seed=1)]
    assert first != [one.requests_per_s.sum() for one in shipped_tenants(capacity, seed=2)]


def test_scaling_keeps_the_shape_of_the_traffic(tenants):
    traces = shipped_traces()
    for one in tenants:
        rates = traces[one.client].requests_per_s
        assert np.allclose(rates / rates.mean(), one.requests_per_s / one.requests_per_s.mean())


def test_a_whole_gpu_serves_every_tenant_at_its_usual_mix(capacity, tenants):
    for one in tenants:
        mix = Mix(float(np.median(one.prompt_tokens)), float(np.median(one.output_tokens)))
        assert 0 < capacity.sustained(one.workload, capacity.reference(one.workload), mix)
