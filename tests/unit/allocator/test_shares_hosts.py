"""What is left of hosts, and what fits on them."""

import numpy as np
import pytest

from allocator.shares.hosts import Host, Hosts, Spot
from allocator.shares.mix import Ask

T4 = Host(gpus=1, product="T4", cpu_milli=10_000, memory_mib=1000)
A10 = Host(gpus=2, product="A10", cpu_milli=4000, memory_mib=500)
HALF = Ask(1, 500, 1000, 100)


def hosts():
    return Hosts([T4, A10])


def test_a_host_with_fewer_cards_has_zeros_at_its_end():
    assert [[1000, 0], [1000, 1000]] == hosts().idle.tolist()


@pytest.mark.parametrize(
    ("ask", "fits"),
    [
        (Ask(1, 1000, 0, 0), [True, True]),
        (Ask(2, 1000, 0, 0), [False, True]),
        (Ask(3, 1000, 0, 0), [False, False]),
        (Ask(1, 1, 4000, 500), [True, True]),
        (Ask(1, 1, 4001, 0), [True, False]),
        (Ask(1, 1, 0, 501), [True, False]),
        (Ask(1, 1, 0, 0, frozenset({"A10"})), [False, True]),
        (Ask(1, 1, 0, 0, frozenset({"A10", "T4"})), [True, True]),
        (Ask(1, 1, 0, 0, frozenset({"H100"})), [False, False]),
        (Ask(0, 0, 10_000, 1000), [True, False]),
        (Ask(0, 0, 10_001, 0), [False, False]),
    ],
)
def test_what_fits_needs_cards_cpu_memory_and_a_product_that_is_allowed(ask, fits):
    assert fits == hosts().fits(ask).tolist()


def test_who_is_asked_about_some_hosts_answers_for_them():
    assert [True] == hosts().fits(Ask(2, 1000, 0, 0), np.array([1])).tolist()


def test_a_share_that_is_taken_is_gone_from_its_card_and_host():
    left = hosts()
    left.take(Spot(1, (1,)), HALF)

    assert [[1000, 0], [1000, 500]] == left.idle.tolist()
    assert ([10_000, 3000], [1000, 400]) == (left.cpu_milli.tolist(), left.memory_mib.tolist())
    assert [0, 1] == left.version.tolist()


def test_what_is_given_back_is_there_again():
    left = hosts()
    for _ in range(2):
        left.take(Spot(0, (0,)), HALF)
    left.give_back(Spot(0, (0,)), HALF)

    assert ([500, 0], 9000, 900, 3) == (
        left.idle[0].tolist(),
        left.cpu_milli[0],
        left.memory_mib[0],
        left.version[0],
    )


def test_nothing_goes_beyond_the_card():
    left = hosts()
    left.take(Spot(1, (0,)), Ask(1, 501, 0, 0))

    with pytest.raises(ValueError, match="does not fit on cards"):
        left.take(Spot(1, (0,)), HALF)
    assert [499, 1000] == left.idle[1].tolist()


@pytest.mark.parametrize(
    ("spot", "ask"),
    [
        (Spot(1, (0,)), Ask(2, 1000, 0, 0)),
        (Spot(1, (0, 0)), Ask(2, 500, 0, 0)),
        (Spot(1, (0,)), Ask(1, 500, 4001, 0)),
        (Spot(0, (0,)), Ask(1, 500, 0, 0, frozenset({"A10"}))),
    ],
)
def test_a_spot_that_is_not_the_asks_is_refused(spot, ask):
    with pytest.raises(ValueError, match="does not fit"):
        hosts().take(spot, ask)


def test_the_first_cards_that_are_free_are_named():
    left = Hosts([Host(gpus=4, product="A10", cpu_milli=10, memory_mib=10)])
    left.take(Spot(0, (1,)), Ask(1, 1, 0, 0))

    assert (0, 2) == left.cards_for(0, Ask(2, 1000, 0, 0))
    assert () == left.cards_for(0, Ask(0, 0, 1, 1))
