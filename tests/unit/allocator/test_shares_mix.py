"""What is asked for, and the mix of it."""

import pytest

from allocator.shares.mix import Ask, Mix

SHARE = Ask(1, 250, 2000, 8192)
PAIR = Ask(2, 1000, 8000, 4096)
CPU_ONLY = Ask(0, 0, 50_000, 1024)


def test_only_part_of_one_card_is_a_share():
    assert (True, False, False, False) == tuple(
        ask.is_share for ask in (SHARE, PAIR, CPU_ONLY, Ask(1, 1000, 0, 0))
    )


def test_what_is_asked_of_cards_is_summed_over_them():
    assert (250, 2000, 0) == (SHARE.gpu_milli, PAIR.gpu_milli, CPU_ONLY.gpu_milli)


def test_weights_sum_to_one_whatever_they_are_given_as():
    assert {SHARE: 0.75, PAIR: 0.25} == Mix({PAIR: 1, SHARE: 3}).weights


def test_the_mix_is_kept_in_one_order_so_that_sums_do_not_depend_on_how_it_was_given():
    assert list(Mix({SHARE: 1, PAIR: 1}).weights) == list(Mix({PAIR: 1, SHARE: 1}).weights)


def test_cpu_and_memory_by_card_count_only_what_asks_for_cards():
    mix = Mix({SHARE: 1, PAIR: 1, CPU_ONLY: 2})

    assert 1000 * (2000 + 8000) / (250 + 2000) == pytest.approx(mix.cpu_milli_per_gpu)
    assert 1000 * (8192 + 4096) / (250 + 2000) == pytest.approx(mix.memory_mib_per_gpu)


def test_a_mix_that_asks_for_no_card_has_nothing_by_card():
    assert (0.0, 0.0) == (Mix({CPU_ONLY: 1}).cpu_milli_per_gpu, Mix({CPU_ONLY: 1}).memory_mib_per_gpu)
