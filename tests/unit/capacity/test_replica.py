"""A replica's mean latencies, against published predictions and limits that can be worked out."""

import numpy as np
import pytest

from capacity.law import Law
from capacity.replica import MAX_BATCH, Replica

LAW = Law(alpha_ms=19.7, beta_ms_per_token=0.10, gamma_ms_per_kv_token=3.5e-5)
PROMPT, OUTPUT = 512.0, 256.0
ROOM_FOR_64 = 64 * (PROMPT + OUTPUT)


def replica(kv_tokens=ROOM_FOR_64, prompt=PROMPT, output=OUTPUT, law=LAW):
    return Replica(law, kv_tokens, np.array([prompt]), np.array([output]))


@pytest.mark.parametrize(
    ("rho", "ttft_ms", "itl_ms"), [(0.30, 98, 23.4), (0.50, 104, 26.7), (0.70, 113, 31.0)]
)
def test_latencies_are_those_published_for_this_law(rho, ttft_ms, itl_ms):
    """64 places, 512 prompt and 256 output tokens, at shares of 6.19 requests/s."""
    engine = replica()

    point = engine.at(rho * engine.full_rate_per_s)

    assert ttft_ms == pytest.approx(point.ttft_ms[0], rel=0.02)
    assert itl_ms == pytest.approx(point.itl_ms[0], rel=0.02)


def test_an_almost_idle_replica_gives_the_latency_of_a_request_alone():
    point = replica().at(np.array([1e-6]))

    assert LAW.ttft_ms(PROMPT, OUTPUT, 1.0) == pytest.approx(point.ttft_ms[0], rel=1e-4)
    assert LAW.itl_ms(PROMPT, OUTPUT, 1.0) == pytest.approx(point.itl_ms[0], rel=1e-4)


def test_kv_room_limits_the_batch():
    assert LAW.rate_per_s(PROMPT, OUTPUT, 64.0) == pytest.approx(replica().full_rate_per_s[0])
    assert LAW.rate_per_s(PROMPT, OUTPUT, 3.0) == pytest.approx(
        replica(ROOM_FOR_64 * 3.9 / 64).full_rate_per_s[0]
    )
    assert replica().is_short_of_kv[0]


def test_ample_kv_room_leaves_the_engine_to_limit_the_batch():
    assert LAW.rate_per_s(PROMPT, OUTPUT, float(MAX_BATCH)) == pytest.approx(replica(1e9).full_rate_per_s[0])
    assert not replica(1e9).is_short_of_kv[0]


def test_long_prompts_fill_the_iterations_before_the_batch_is_full():
    """2,000 prompt and 50 output tokens in 51 iterations of at most 2,048 tokens: 51 requests fill them."""
    engine = replica(1e9, prompt=2000.0, output=50.0)

    batch = 2048 * 51 / 2050
    full_iteration_ms = LAW.alpha_ms + batch * LAW.delta_ms(2000.0, 50.0)
    assert 1000 * 2048 / 2050 / full_iteration_ms == pytest.approx(engine.full_rate_per_s[0])
    assert not engine.is_short_of_kv[0]


def test_requests_in_service_follow_littles_law():
    engine = replica()
    arrivals = 0.5 * engine.full_rate_per_s

    point = engine.at(arrivals)

    # In the constant batch that explains the ITL a request stays for as long as it does on average.
    company = 1 + (point.itl_ms[0] - LAW.itl_ms(PROMPT, OUTPUT, 1.0)) / LAW.delta_ms(PROMPT, OUTPUT)
    assert arrivals[0] * LAW.residence_ms(PROMPT, OUTPUT, company) / 1000 == pytest.approx(point.batch[0])
    assert point.batch[0] < company


def test_few_places_make_requests_wait():
    few, many = replica(2 * (PROMPT + OUTPUT)), replica()

    assert few.at(0.7 * few.full_rate_per_s).wait_ms[0] > 1000.0
    assert many.at(0.7 * many.full_rate_per_s).wait_ms[0] < 1.0
