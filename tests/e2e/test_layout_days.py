"""Layouts of nodes under simulated MIG managers, planned by the service ahead of a morning and an evening."""

import pytest

from actuator.layouts.node import changes_of, is_held, progress_of
from simulator.api import NODE
from tests.builders.layout_days import KEYS, Days, Flaky, Noted, house


def served_throughout(days):
    """Nobody was turned away or cut off, and nearly all were served inside their objectives."""
    found = days.summary()
    return (found.unserved_share, found.requests_cut, found.attainment > 0.999)


def cut_share(days):
    """Part of all cards' time between asking for a layout and its devices, whole nodes counted."""
    return days.cutting_s / (len(days.nodes()) * (days.now_s() - days.world.start_s))


@pytest.fixture(scope="module")
def morning():
    days = Days()
    days.first = days.nodes()
    return days.run(100)


def test_night_layouts_become_day_layouts_before_the_rise(morning):
    small = [
        sum(nodes[name].get("1g.10gb", 0) for name in nodes) for nodes in (morning.first, morning.nodes())
    ]
    great = [
        sum(nodes[name].get("7g.80gb", 0) for name in nodes) for nodes in (morning.first, morning.nodes())
    ]

    assert 63 == small[0] > small[1] + 2 * 7, "more than two cards of small ones have gone"
    assert 1 == great[0] < 4 <= great[1]
    assert (0, 0, True) == served_throughout(morning)


def test_changing_layouts_takes_little_of_the_cards_and_how_long_is_remembered(morning):
    assert 0 < cut_share(morning) <= 0.05
    took_s = [took_s for node in morning.world.store.list(NODE) for _, took_s in changes_of(node)]
    assert 3 <= len(took_s)
    assert all(60 <= took for took in took_s)


def test_one_node_changes_at_a_time_and_none_is_left_held(morning):
    assert [] == [node["metadata"]["name"] for node in morning.world.store.list(NODE) if is_held(node)]
    said = [[c for c in tick.conditions if ": hold:" in c or ": label:" in c] for tick in morning.ticks]
    assert 1 == max(map(len, said))


def test_tenants_of_several_sizes_leave_nodes_that_are_cut_anew_and_nobody_notices():
    """Six workloads of four sizes on five nodes: who has to leave is made elsewhere first."""
    days = Days(scene=house(2))
    days.door = Noted(days.door)
    days.forget()
    before = days.nodes()
    days.run(70)
    changed = [name for name, offered in days.nodes().items() if offered != before[name]]
    large = [
        sum(n for o in nodes.values() for p, n in o.items() if p[0] in "34")
        for nodes in (before, days.nodes())
    ]

    assert 2 <= len(changed)
    assert large[0] + 2 <= large[1]
    assert {"bulk", "mail"} <= set(days.door.evicted)
    assert (0, 0, True) == served_throughout(days)
    assert 0 < cut_share(days) <= 0.05


def test_day_layouts_become_night_layouts_whoever_goes_on():
    """The process is a new one at every tick while a node is under way, and ends before and after each write.

    It is served throughout, as the simulated router counts it."""

    def crash(days):
        if any(progress_of(node) for node in days.world.store.list(NODE)):
            days.forget()

    days = Days(is_day=True)
    days.door = Flaky(days.door)
    days.forget()
    before = days.nodes()
    days.run(68, crash)
    small = [sum(nodes[name].get("1g.10gb", 0) for name in nodes) for nodes in (before, days.nodes())]

    assert {"write_file", "evict"} < set(days.door.failed)
    assert 5 <= len(set(days.door.failed))
    assert 7 == small[0] < small[1]
    assert [] == [node["metadata"]["name"] for node in days.world.store.list(NODE) if is_held(node)]
    assert (0, 0, True) == served_throughout(days)


def test_without_acting_it_is_only_said():
    days = Days(acting=False)
    before = days.nodes()
    days.run(36)

    assert before == days.nodes()
    assert [] == [node["metadata"]["name"] for node in days.world.store.list(NODE) if is_held(node)]
    assert any("should be cut otherwise" in c for tick in days.ticks for c in tick.conditions)
    named = {
        word.rstrip(",")
        for tick in days.ticks
        for c in tick.conditions
        for word in c.split()
        if word.startswith("tenants/")
    }
    assert set() < named <= {str(key) for key in KEYS}


def test_cards_that_are_claimed_are_cut_anew_before_the_rise_too():
    """DRA's driver offers what a MIG manager cuts: its slices say what is there, claims who is in the way."""
    days = Days(is_claimed=True)
    first = days.nodes()
    days.run(100)
    great = [sum(offer.get("7g.80gb", 0) for offer in nodes.values()) for nodes in (first, days.nodes())]

    assert 1 == great[0] < 4 <= great[1]
    assert (0, 0, True) == served_throughout(days)
    assert 0 < cut_share(days) <= 0.05
