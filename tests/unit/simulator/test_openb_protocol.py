"""The two replays of openb on small clusters."""

import numpy as np
import pytest

from allocator.shares.hosts import Host, Hosts, Spot
from allocator.shares.mix import Ask
from simulator.openb.protocol import RULES, arrivals, churn, fill, typical
from simulator.openb.rivals import BestFit, Fgd, Random

HOST = Host(gpus=2, product="G2", cpu_milli=24_000, memory_mib=100_000)
HOSTS = (HOST,) * 6
PODS = (Ask(1, 1000, 6000, 10), Ask(1, 500, 3000, 10), Ask(1, 300, 8000, 10), Ask(0, 0, 4000, 10))


def rng():
    return np.random.default_rng(7)


def test_a_list_is_drawn_from_again_until_enough_is_asked_for():
    order = arrivals(PODS, gpus=12, rng=rng())
    asked = np.cumsum([pod.gpu_milli for pod in order])

    assert set(PODS) == set(order[:4])
    assert asked[-2] < 15_600 <= asked[-1]


def test_of_a_list_that_asks_for_more_only_the_first_are_taken():
    assert [Ask(1, 1000, 0, 0)] * 3 == arrivals([Ask(1, 1000, 0, 0)] * 9, gpus=2, rng=rng())


def test_the_same_seed_is_the_same_order_whatever_the_rule():
    assert fill(HOSTS, PODS, RULES["foreslice"], 3) == fill(HOSTS, PODS, RULES["foreslice"], 3)
    assert fill(HOSTS, PODS, RULES["random"], 3) != fill(HOSTS, PODS, RULES["random"], 4)


def test_pods_that_fill_hosts_exactly_leave_nothing_idle():
    outcome = fill(HOSTS, [Ask(1, 500, 0, 0)], RULES["foreslice"], 1)

    assert (100.0, 100.0) == (outcome.allocated_pct, outcome.allocated_at_100_pct)
    assert 100 * (1 - 24 / 32) == pytest.approx(outcome.refused_pct)


@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("replay", [fill, churn])
def test_every_rule_is_replayed_within_what_there_is(replay, name):
    outcome = replay(HOSTS, PODS, RULES[name], 5)

    assert 50 < outcome.allocated_pct <= 100
    assert 0 < outcome.refused_pct < 60


def test_where_pods_leave_their_room_is_used_again():
    outcome = churn([HOST], [Ask(1, 1000, 0, 0)], RULES["best fit"], 2)

    assert 50 < outcome.allocated_pct <= 100
    assert outcome.allocated_at_100_pct is None


def test_the_typical_mix_is_what_is_most_common_whatever_memory_it_asks_for():
    pods = [Ask(1, 500, 1, memory) for memory in range(6)] + [Ask(1, 100, 1, 0)] * 3 + [Ask(1, 900, 1, 0)]

    assert {Ask(1, 500, 1, 0): pytest.approx(2 / 3), Ask(1, 100, 1, 0): pytest.approx(1 / 3)} == typical(
        pods, 0.9
    ).weights


def test_random_takes_any_host_and_card_that_fits_and_no_other():
    left = Hosts([HOST, HOST])
    left.take(Spot(0, (0, 1)), Ask(2, 1000, 0, 0))
    chance = rng()
    seen = {Random(chance).spot(left, Ask(1, 500, 0, 0)) for _ in range(60)}

    assert {Spot(1, (0,)), Spot(1, (1,))} == seen
    assert Random(chance).spot(left, Ask(1, 500, 24_001, 0)) is None
    assert {Spot(1, (0, 1))} == {Random(chance).spot(left, Ask(2, 1000, 0, 0))}


def test_best_fit_takes_the_host_with_least_left_and_its_fullest_card():
    left = Hosts([HOST, HOST])
    left.take(Spot(1, (1,)), Ask(1, 400, 8000, 0))

    assert Spot(1, (1,)) == BestFit().spot(left, Ask(1, 500, 0, 0))
    assert Spot(1, (0,)) == BestFit().spot(left, Ask(1, 700, 0, 0))
    assert BestFit().spot(left, Ask(3, 1000, 0, 0)) is None


def test_fgd_takes_the_card_where_fragments_grow_least():
    left = Hosts([HOST])
    left.take(Spot(0, (0,)), Ask(1, 400, 0, 0))
    left.take(Spot(0, (1,)), Ask(1, 500, 0, 0))
    mix = typical([Ask(1, 500, 0, 0)] * 5 + [Ask(1, 300, 0, 0)] * 3 + [Ask(1, 1000, 0, 0)] * 2, 1.0)

    assert Spot(0, (0,)) == Fgd(mix, left).spot(left, Ask(1, 300, 0, 0))


def test_of_hosts_whose_scores_differ_by_less_than_a_hundredth_fgd_takes_the_first():
    left = Hosts([HOST, HOST])
    left.take(Spot(1, (0,)), Ask(1, 30, 0, 0))
    mix = typical([Ask(1, 500, 0, 0)], 1.0)

    assert Spot(0, (0,)) == Fgd(mix, left).spot(left, Ask(1, 500, 0, 0))


def test_best_fit_takes_the_first_of_equals():
    assert Spot(0, (0,)) == BestFit().spot(Hosts([HOST, HOST]), Ask(1, 500, 0, 0))
