"""Beds go to those who may need them, apart from whose bursts meet, under every bound of memory."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.beds import Guest, House, Room, lay_out
from fleet.ledgers.beds import Bed

BED = Bed(awake_gib=60.0, host_gib=16.0, context_gib=1.0)
ROOMS = (Room("n0", 80.0), Room("n0", 80.0), Room("n1", 80.0))
HOUSE = House(ROOMS, sleepers=2, host_gib=1000.0)
APART = np.zeros((4, 4))


def guests(*risks, ranks=None):
    return [Guest(risk, rank, BED) for risk, rank in zip(risks, ranks or [1] * len(risks), strict=True)]


def beds(layout):
    return [sorted(each) for each in layout]


def count(layout, one):
    return sum(one in each for each in layout)


def test_those_whose_bursts_meet_sleep_apart():
    meets = np.array([[1.0, 0.9, 0.0, 0.0], [0.9, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.9], [0.0, 0.0, 0.9, 1.0]])
    house = replace(HOUSE, rooms=ROOMS[:2])
    found = lay_out(guests(1.0, 1.0, 1.0, 1.0), house, meets)
    assert all({0, 1} != set(each) != {2, 3} for each in found)


def test_more_beds_go_to_those_who_may_need_more_slices_at_once():
    found = lay_out(guests(3.0, 1.0, 1.0, 1.0), HOUSE, APART)
    assert [3, 1, 1, 1] == [count(found, one) for one in range(4)]


def test_everybody_has_one_before_anybody_has_two_and_strict_tiers_come_first():
    house = replace(HOUSE, rooms=ROOMS[:1])
    found = lay_out(guests(9.0, 1.0, 2.0, 0.1, ranks=[2, 2, 1, 0]), house, APART)
    assert [[2, 3]] == beds(found)


@pytest.mark.parametrize(
    ("expected", "change"),
    [
        (9, {"rooms": (Room("n0", 62.9),) * 3, "sleepers": 8}),
        (12, {"rooms": (Room("n0", 61.9),) * 6, "sleepers": 8}),
        (0, {"rooms": (Room("n0", 59.0),) * 3}),
        (2, {"rooms": (Room("n0", 80.0),) * 3, "host_gib": 40.0}),
        (4, {"rooms": (Room("n0", 80.0), Room("n1", 80.0)), "host_gib": 40.0}),
    ],
)
def test_no_more_sleep_than_memory_of_device_and_host_keeps(expected, change):
    """Of 62.9 GiB one awake takes 60 and two contexts fit beside it; of 61.9 one."""
    found = lay_out(guests(9.0, 9.0, 9.0, 9.0), replace(HOUSE, **change), APART)
    assert expected == sum(map(len, found))


def test_nobody_is_moved_for_a_little():
    first = lay_out(guests(2.0, 1.0, 1.0, 1.0), HOUSE, APART)
    meets = np.eye(4) + 0.01 * np.flip(np.eye(4), 0)
    assert first == lay_out(guests(2.0, 1.0, 1.0, 1.0), HOUSE, meets, first)


def test_where_the_risk_has_moved_beds_follow():
    first = lay_out(guests(3.0, 1.0, 1.0, 1.0), HOUSE, APART)
    after = lay_out(guests(1.0, 1.0, 1.0, 3.0), HOUSE, APART, first)
    assert (1, 3) == (count(after, 0), count(after, 3))


def test_what_does_not_fit_any_more_leaves():
    first = lay_out(guests(1.0, 1.0, 1.0, 1.0), HOUSE, APART)
    after = lay_out(guests(1.0, 1.0, 1.0, 1.0), replace(HOUSE, rooms=ROOMS[:1]), APART, first)
    assert (1, 2) == (len(after), len(after[0]))


@given(
    st.lists(st.tuples(st.floats(0, 5), st.integers(0, 2), st.floats(1, 70)), min_size=1, max_size=6),
    st.integers(1, 4),
    st.integers(1, 4),
    st.floats(0, 200),
)
def test_every_bound_holds_whoever_asks(found, rooms, sleepers, host_gib):
    people = [Guest(risk, rank, Bed(gib, gib / 2)) for risk, rank, gib in found]
    house = House([Room(f"n{n % 2}", 70.0) for n in range(rooms)], sleepers, host_gib)
    layout = lay_out(people, house, np.zeros((len(people), len(people))))
    for node in ("n0", "n1"):
        here = [each for room, each in zip(house.rooms, layout, strict=True) if room.node == node]
        assert sum(people[one].bed.host_gib for each in here for one in each) <= host_gib + 1e-9
    for each in layout:
        assert len(each) <= sleepers
        contexts = sum(people[one].bed.context_gib for one in each)
        assert all(
            contexts - people[one].bed.context_gib + people[one].bed.awake_gib <= 70.0 + 1e-9 for one in each
        )
