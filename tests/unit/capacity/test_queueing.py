"""The batch queue agrees with closed forms of queueing theory, and with its own balance equations."""

import math

import numpy as np
import pytest

from capacity.queueing import BatchQueue

STATES = 64


def equal_servers(servers, rate):
    """One queue with `servers` that each serve `rate` requests/s."""
    return BatchQueue(
        np.minimum(np.arange(1.0, STATES + 1), servers)[np.newaxis, :] * rate, np.array([float(servers)])
    )


def erlang_wait_s(servers, rate, arrivals):
    """Mean wait in M/M/c by Erlang's C formula."""
    offered = arrivals / rate
    rho = offered / servers
    blocked = offered**servers / math.factorial(servers) / (1 - rho)
    free = sum(offered**n / math.factorial(n) for n in range(servers))
    return blocked / (free + blocked) / (servers * rate - arrivals)


@pytest.mark.parametrize("servers", [1, 2, 7, 40, STATES])
@pytest.mark.parametrize("rho", [0.05, 0.3, 0.7, 0.95])
def test_equal_servers_make_it_m_m_c(servers, rho):
    arrivals = rho * servers * 3.0

    steady = equal_servers(servers, 3.0).at(np.array([arrivals]))

    assert erlang_wait_s(servers, 3.0, arrivals) == pytest.approx(steady.wait_s[0], rel=1e-9, abs=1e-12)
    assert 1 / 3.0 == pytest.approx(steady.residence_s[0], rel=1e-9)


@pytest.mark.parametrize("rho", [0.1, 0.5, 0.9])
def test_one_server_makes_it_m_m_1(rho):
    steady = equal_servers(1, 2.0).at(np.array([2.0 * rho]))

    assert rho / (2.0 - 2.0 * rho) == pytest.approx(steady.wait_s[0], rel=1e-9)


def test_growing_rates_agree_with_the_balance_equations():
    """The chain cut at 2,000 states: between two neighbours, as many requests come as leave."""
    places, arrivals, cut = 5, 1.4, 2000
    rate_of = [0.0, 0.5, 0.9, 1.2, 1.4, 1.5]
    rates = np.array([rate_of[min(n, places)] for n in range(1, cut)])
    chance = np.concatenate([[1.0], np.cumprod(arrivals / rates)])
    chance /= chance.sum()
    present = np.arange(cut)
    waiting, served = chance @ np.maximum(present - places, 0), chance @ np.minimum(present, places)

    queue = BatchQueue(np.array([[rate_of[min(n, places)] for n in range(1, STATES + 1)]]), np.array([5.0]))
    steady = queue.at(np.array([arrivals]))

    assert waiting / arrivals == pytest.approx(steady.wait_s[0], rel=1e-9)
    assert served / arrivals == pytest.approx(steady.residence_s[0], rel=1e-9)


def test_columns_beyond_the_places_change_nothing():
    narrow = BatchQueue(np.array([[1.0, 1.5]]), np.array([2.0])).at(np.array([1.2]))
    wide = BatchQueue(np.array([[1.0] + [1.5] * 99]), np.array([2.0])).at(np.array([1.2]))

    assert narrow.wait_s[0] == pytest.approx(wide.wait_s[0], rel=1e-12)
    assert narrow.residence_s[0] == pytest.approx(wide.residence_s[0], rel=1e-12)


def test_queues_are_answered_independently():
    rates = np.array([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    places, arrivals = np.array([3.0, 1.0]), np.array([2.0, 4.0])

    together = BatchQueue(rates, places).at(arrivals)

    for i in range(2):
        alone = BatchQueue(rates[i : i + 1], places[i : i + 1]).at(arrivals[i : i + 1])
        assert alone.wait_s[0] == together.wait_s[i]
        assert alone.residence_s[0] == together.residence_s[i]


def test_an_almost_idle_queue_serves_at_the_rate_of_one():
    steady = BatchQueue(np.array([[4.0, 6.0]]), np.array([2.0])).at(np.array([1e-9]))

    assert 0.0 == pytest.approx(steady.wait_s[0], abs=1e-9)
    assert 0.25 == pytest.approx(steady.residence_s[0], rel=1e-8)
