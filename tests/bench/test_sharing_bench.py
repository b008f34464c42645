"""Timings of placing shares: one replica's place is asked for with every addition."""

import itertools

import pytest

from allocator.shares.hosts import Host, Hosts
from allocator.shares.mix import Ask, Mix
from allocator.shares.rule import LeastLoss

ASKS = [
    Ask(1, milli, cpu_milli, 4096)
    for milli, cpu_milli in itertools.product((160, 320, 470, 650, 810, 1000), (3000, 8000, 12_000, 18_000))
]
MIX = Mix(dict.fromkeys(ASKS, 1.0))


def hosts(count):
    return Hosts([Host(gpus=8, product="G2", cpu_milli=96_000, memory_mib=393_216)] * count)


@pytest.mark.parametrize("count", [100, 1000])
def test_a_hundred_shares_one_after_the_other(benchmark, count):
    def place():
        left = hosts(count)
        rule = LeastLoss(MIX, left)
        for ask in itertools.islice(itertools.cycle(ASKS), 100):
            left.take(rule.spot(left, ask), ask)
        return left

    assert 100 == benchmark(place).version.sum()
