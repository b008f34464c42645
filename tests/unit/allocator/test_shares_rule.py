"""One replica's place among shared hosts."""

import numpy as np
import pytest

from allocator.shares.hosts import Host, Hosts, Spot
from allocator.shares.mix import Ask, Mix
from allocator.shares.rule import LeastLoss, Scores, after, best_card

BIG = Host(gpus=2, product="A10", cpu_milli=100_000, memory_mib=100_000)
SMALL = Host(gpus=1, product="T4", cpu_milli=100_000, memory_mib=100_000)


def share(milli, cpu=0):
    return Ask(1, milli, cpu, 0)


def filled(hosts, *taken):
    left = Hosts(hosts)
    for host, card, milli in taken:
        left.take(Spot(host, (card,)), share(milli))
    return left


def place(left, mix, ask):
    return LeastLoss(Mix(mix), left).spot(left, ask)


def test_a_share_goes_where_the_mix_loses_least_and_not_to_the_fullest_card():
    left = filled([BIG], (0, 0, 400), (0, 1, 500))
    mix = {share(500): 5, share(300): 3, share(1000): 2}

    assert Spot(0, (0,)) == place(left, mix, share(300))


def test_cards_of_any_host_are_compared():
    left = filled([BIG, SMALL], (0, 0, 400), (1, 0, 700))

    assert Spot(1, (0,)) == place(left, {share(300): 1, share(1000): 1}, share(300))


def test_among_equals_the_host_with_less_left_then_with_less_cpu_then_the_first():
    poor = Host(gpus=1, product="T4", cpu_milli=99_999, memory_mib=100_000)

    assert Spot(1, (0,)) == place(Hosts([BIG, SMALL]), {share(1000): 1}, share(1000))
    assert Spot(1, (0,)) == place(Hosts([SMALL, poor]), {share(1000): 1}, share(1000))
    assert Spot(0, (0,)) == place(Hosts([SMALL, SMALL]), {share(1000): 1}, share(1000))


def test_what_needs_no_card_goes_where_cards_do_not_want_for_cpu():
    tight = Host(gpus=2, product="T4", cpu_milli=20_000, memory_mib=100_000)
    ample = Host(gpus=2, product="T4", cpu_milli=60_000, memory_mib=100_000)

    assert Spot(1, ()) == place(Hosts([tight, ample]), {share(1000, cpu=10_000): 1}, Ask(0, 0, 5000, 0))


def test_memory_is_kept_for_cards_as_cpu_is():
    tight = Host(gpus=2, product="T4", cpu_milli=0, memory_mib=2000)
    ample = Host(gpus=2, product="T4", cpu_milli=0, memory_mib=6000)

    assert Spot(1, ()) == place(Hosts([tight, ample]), {Ask(1, 1000, 0, 1000): 1}, Ask(0, 0, 0, 500))


def test_several_cards_are_the_first_free_ones():
    left = filled([Host(gpus=4, product="A10", cpu_milli=9, memory_mib=9)], (0, 1, 10))

    assert Spot(0, (0, 2)) == place(left, {share(500): 1}, Ask(2, 1000, 0, 0))


def test_what_fits_nowhere_has_no_place():
    assert place(Hosts([SMALL]), {share(500): 1}, Ask(2, 1000, 0, 0)) is None
    assert place(Hosts([]), {share(500): 1}, share(1)) is None


def test_a_rule_sees_what_was_taken_and_given_back_since():
    left = Hosts([SMALL, SMALL])
    rule = LeastLoss(Mix({share(600): 1}), left)
    seen = []
    for _ in range(3):
        spot = rule.spot(left, share(600))
        seen.append(spot)
        if spot is not None:
            left.take(spot, share(600))
    left.give_back(Spot(1, (0,)), share(600))

    assert [Spot(0, (0,)), Spot(1, (0,)), None, Spot(1, (0,))] == [*seen, rule.spot(left, share(600))]


def test_only_hosts_that_changed_are_scored_again():
    asked = []

    def score(_hosts, rows, _ask):
        asked.append(rows.tolist())
        return np.zeros(len(rows)), np.zeros(len(rows), np.int64)

    left, scores = Hosts([SMALL, SMALL, BIG]), Scores(score)
    scores.of(left, share(600))
    left.take(Spot(2, (0,)), share(600))
    scores.of(left, share(600))
    left.take(Spot(0, (0,)), share(600))
    values, _ = scores.of(left, share(600))

    assert [[0, 1, 2], [2]] == asked
    assert [np.inf, 0, 0] == values.tolist()


def test_every_way_to_put_a_share_is_a_card_it_fits_on():
    left = filled([BIG, SMALL], (0, 0, 800))
    which, card, idle = after(left, np.array([0, 1]), share(300))

    assert ([0, 1], [1, 0]) == (which.tolist(), card.tolist())
    assert [[200, 700], [700, 0]] == idle.tolist()


@pytest.mark.parametrize(
    ("ask", "idle"),
    [(Ask(2, 1000, 0, 0), [0, 0]), (Ask(1, 1000, 0, 0), [0, 1000]), (Ask(0, 0, 1, 1), [1000, 1000])],
)
def test_whole_cards_are_taken_in_one_way(ask, idle):
    which, card, left = after(Hosts([BIG]), np.array([0]), ask)

    assert ([0], [0], [idle]) == (which.tolist(), card.tolist(), left.tolist())


def test_of_equal_cards_the_first_is_taken():
    values, cards = best_card(
        np.array([3.0, 1.0, 1.0, 2.0]), np.array([0, 0, 0, 1]), np.array([0, 1, 2, 5]), 2
    )

    assert ([1.0, 2.0], [1, 5]) == (values.tolist(), cards.tolist())
