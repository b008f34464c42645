"""Rivals: capacity that never moves, and demand known ahead."""

import math

import numpy as np
import pytest

from capacity.estimate import CapacityModel
from fleet.boards import H100_80GB
from fleet.demand import QUANTILES, WINDOWS_S
from fleet.errors import RefusedError
from fleet.workload import LatencyTarget, Slo
from predictor.ports import WorkSeries
from simulator.rivals.oracle import OraclePeaks
from simulator.rivals.static import static_replicas
from tests.builders.engines import MIX, WHOLE, workload

KEY = workload().key


@pytest.fixture(scope="module")
def capacity():
    return CapacityModel([H100_80GB])


def low(capacity):
    return capacity.capacity(workload(), WHOLE, [MIX]).work_low


@pytest.mark.parametrize("work", [0.0, 0.5, 1.7, 6.0])
def test_static_capacity_carries_the_past_by_its_lower_bound(capacity, work):
    replicas = static_replicas(workload(), capacity, np.full(5000, work), [MIX])
    assert max(1, math.ceil(work / low(capacity))) == replicas


def test_one_minute_in_a_thousand_may_exceed_static_capacity(capacity):
    rare, often = np.ones(10_000), np.ones(10_000)
    rare[:9] = often[:20] = 10.0
    assert math.ceil(1 / low(capacity)) == static_replicas(workload(), capacity, rare, [MIX])
    assert math.ceil(10 / low(capacity)) == static_replicas(workload(), capacity, often, [MIX])


def test_unknown_minutes_size_nothing(capacity):
    work = np.array([0.2, np.nan, 0.3])
    assert 1 == static_replicas(workload(), capacity, work, [MIX])


def test_an_slo_that_no_gpu_keeps_has_no_static_size(capacity):
    impossible = workload("x", Slo(itl=LatencyTarget(0.95, 1e-9)))

    class Nothing:
        def reference(self, one):
            return WHOLE

        def capacity(self, one, shape, mixes):
            return None

    with pytest.raises(RefusedError, match="shop/x"):
        static_replicas(impossible, Nothing(), np.ones(3), [MIX])


def series(work, start_s=0):
    work = np.asarray(work, dtype=np.float64)
    return WorkSeries(KEY, start_s, work, np.zeros(len(work), dtype=np.bool_))


@pytest.fixture
def truth():
    return series(np.random.default_rng(4).uniform(0, 3, 900), start_s=6000)


def test_the_oracle_knows_the_highest_minute_of_each_window(truth):
    oracle = OraclePeaks(truth).fit(series(truth.work[:100], start_s=6000))
    for window_s in WINDOWS_S:
        expected = truth.work[100 : 100 + window_s // 60].max()
        assert {expected} == {oracle.peaks().peak(window_s, quantile) for quantile in QUANTILES}


def test_the_oracle_goes_on_with_each_bucket(truth):
    oracle = OraclePeaks(truth).fit(series(truth.work[:100], start_s=6000))
    for _ in range(7):
        oracle.update(0.0)
    peaks = oracle.peaks()
    assert 6000 + 107 * 60 == peaks.made_at_s
    assert truth.work[107:109].max() == peaks.peak(120, 0.9)


def test_the_oracle_knows_where_it_is_though_the_history_began_later(truth):
    oracle = OraclePeaks(truth).fit(series(truth.work[40:100], start_s=6000 + 40 * 60))
    assert truth.work[100:102].max() == oracle.peaks().peak(120, 0.9)


def test_windows_end_with_what_is_known(truth):
    oracle = OraclePeaks(truth).fit(series(truth.work[:899], start_s=6000))
    assert truth.work[899] == oracle.peaks().peak(21600, 0.99)
    oracle.update(1.0)
    assert truth.work[899] == oracle.peaks().peak(120, 0.99)
