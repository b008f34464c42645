"""Traffic on the calendar: the same requests by second and by minute, from midnight of day 0 on."""

import numpy as np
import pytest

from fleet.demand import Mix
from simulator.offered import EPOCH_S, OfferedTraffic
from simulator.traffic import DAY_S
from tests.builders.engines import tenant

DAYS = np.repeat([2.0, 5.0], 144)


@pytest.fixture
def offered():
    return OfferedTraffic([tenant(DAYS, "a"), tenant(3 * DAYS, "b")], seed=1)


def test_day_zero_begins_at_midnight(offered):
    assert 0 == EPOCH_S % DAY_S
    assert (EPOCH_S, EPOCH_S + 2 * DAY_S) == (offered.start_s, offered.end_s)


def test_seconds_are_those_of_the_minutes(offered):
    start_s = EPOCH_S + DAY_S + 7200
    seconds = offered.seconds(start_s, 600)
    for row, one in enumerate(offered.tenants):
        minutes = offered.minutes(one.workload.key, start_s, start_s + 600)
        assert minutes.tolist() == seconds[:, row].reshape(10, 60).sum(axis=1).tolist()


def test_days_differ_as_their_rates_do(offered):
    key = offered.tenants[0].workload.key
    days = offered.minutes(key, offered.start_s, offered.end_s).reshape(2, -1).sum(axis=1)
    assert pytest.approx(2 * DAY_S, rel=0.02) == days[0]
    assert pytest.approx(5 * DAY_S, rel=0.02) == days[1]


def test_tokens_and_mixes_are_those_of_the_step():
    one = tenant(DAYS)
    one.prompt_tokens[1] = 77.0
    offered = OfferedTraffic([one], seed=1)
    assert (Mix(77.0, 60.0),) == offered.mixes(EPOCH_S + 600)
    prompt, output = offered.tokens(one.workload.key, EPOCH_S, EPOCH_S + 1800)
    assert [300.0] * 10 + [77.0] * 10 + [300.0] * 10 == prompt.tolist()
    assert [60.0] * 30 == output.tolist()


def test_the_same_seed_offers_the_same(offered):
    again = OfferedTraffic(offered.tenants, seed=1)
    other = OfferedTraffic(offered.tenants, seed=2)
    assert np.array_equal(offered.seconds(EPOCH_S, 900), again.seconds(EPOCH_S, 900))
    assert not np.array_equal(offered.seconds(EPOCH_S, 900), other.seconds(EPOCH_S, 900))


def test_a_tenant_is_offered_the_same_whoever_else_is_there(offered):
    alone = OfferedTraffic(offered.tenants[1:], seed=1)
    assert np.array_equal(offered.seconds(EPOCH_S, 900)[:, 1], alone.seconds(EPOCH_S, 900)[:, 0])
