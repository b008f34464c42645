"""Timings of decisions: asked every tick of 10 s on a live fleet, and 8,640 times for a replayed day."""

import pytest

from allocator.decide import additions, cards_if_packed, plan
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import fleet, running, standing

SIZES = [8, 100, 1000]
TABLE = {"1g.10gb": 0.04, "1g.20gb": 0.06, "2g.20gb": 0.1, "3g.40gb": 0.4, "4g.40gb": 0.42, "whole": 0.9}


def scene(size, stands="1 x 3g.40gb", up=0.3, reactive=0.2):
    """As many workloads as cards, all of them alike."""
    names = [f"w{number:04d}" for number in range(size)]
    return question(
        running(fleet(size), *(standing(name, stands) for name in names)),
        [workload(name) for name in names],
        [need(name, up, reactive=reactive) for name in names],
        dict.fromkeys(names, offers(TABLE)),
    )


@pytest.mark.parametrize("size", SIZES)
def test_additions_where_nothing_is_missing(benchmark, size):
    assert not any(decision.is_change for decision in benchmark(additions, scene(size)))


@pytest.mark.parametrize("size", SIZES)
def test_additions_where_every_workload_grows(benchmark, size):
    assert all(decision.is_change for decision in benchmark(additions, scene(size, up=0.7)))


@pytest.mark.parametrize("size", SIZES)
def test_additions_where_room_is_short_for_most(benchmark, size):
    decisions = benchmark(additions, scene(size, up=1.5))
    assert any(decision.is_change for decision in decisions)
    assert any(decision.short for decision in decisions)


@pytest.mark.parametrize("size", SIZES)
def test_plan_where_every_workload_tries_every_smaller_shape(benchmark, size):
    """Most would open another card, so they stay; each says why."""
    decisions = benchmark(plan, scene(size, up=0.1, reactive=0.1))
    assert all(decision.because for decision in decisions)
    assert size > 10 * sum(decision.is_change for decision in decisions)


@pytest.mark.parametrize("size", SIZES)
def test_cards_if_packed(benchmark, size):
    assert -(-size // 2) == benchmark(cards_if_packed, scene(size).fleet)
