"""Slices of the pool are dealt by tier and fair shares, and nobody awake and needed is put to sleep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocator.offers import Offer, Offers
from allocator.turns import Ask, Place, deal, short, slices_asked
from fleet.shape import Configuration, Shape
from fleet.workload import Router, WorkloadKey

WHOLE, FIFTH = Shape("h100-80gb"), Shape("h100-80gb", "1g.20gb")


def key(name):
    return WorkloadKey("shop", name)


def ask(name, slices=1, rank=1, lacks=0.5):
    return Ask(key(name), slices, rank, lacks)


def place(name, sleepers, awake=None):
    return Place(name, frozenset(map(key, sleepers)), awake and key(awake))


def dealt(asks, places):
    return {name: workload.name for name, workload in sorted(deal(asks, places).items())}


@pytest.mark.parametrize(
    ("expected", "asks", "places"),
    [
        ({}, [], [place("s", "ab")]),
        ({"s": "a"}, [ask("a", 3)], [place("s", "ab"), place("t", "b")]),
        # One that could go either way makes room for one that cannot.
        ({"s": "b", "t": "a"}, [ask("a", lacks=0.9), ask("b")], [place("s", "ab"), place("t", "a")]),
        # The stricter tier first, then everybody's first slice, then whoever lacks most.
        ({"s": "b"}, [ask("a", lacks=0.9), ask("b", rank=0)], [place("s", "ab")]),
        ({"s": "a", "t": "b"}, [ask("a", 2, lacks=2.0), ask("b")], [place("s", "ab"), place("t", "ab")]),
        ({"s": "b"}, [ask("a", lacks=0.2), ask("b", lacks=0.3)], [place("s", "ab")]),
        # Who is awake stays as long as it asks; then the slice is not free before it sleeps.
        ({"s": "a"}, [ask("a"), ask("b", rank=0)], [place("s", "ab", "a")]),
        ({}, [ask("b", rank=0)], [place("s", "ab", "a")]),
        # What one has counts as its first.
        ({"s": "a", "t": "b"}, [ask("a", 2, lacks=3.0), ask("b")], [place("s", "ab", "a"), place("t", "ab")]),
    ],
)
def test_who_is_awake(expected, asks, places):
    assert expected == dealt(asks, places)


def test_those_who_got_less_than_they_asked_for_are_short():
    asks = [ask("a", 3), ask("b"), ask("c", 0)]
    assert {key("a"): 2} == short(asks, deal(asks, [place("s", "abc"), place("t", "ab")]))


@pytest.mark.parametrize(
    ("expected", "work", "router"),
    [
        (0, 1.0, Router.LEAST_LOADED),
        (1, 1.1, Router.LEAST_LOADED),
        (2, 1.4, Router.LEAST_LOADED),
        (3, 9.0, Router.LEAST_LOADED),
        # Behind equal shares a fifth of a card beside a whole one carries a fifth each.
        (0, 1.1, Router.EQUAL),
    ],
)
def test_so_many_slices_as_carry_what_is_beyond_what_is_ready(expected, work, router):
    offers = Offers(router, {WHOLE: Offer(WHOLE, 1.0, 1.0), FIFTH: Offer(FIFTH, 0.2, 0.2)})
    assert expected == slices_asked(offers, Configuration({WHOLE: 1}), FIFTH, work, 3)


NAMES = "abcd"
PLACES = st.lists(st.sets(st.sampled_from(NAMES), max_size=3), max_size=5)
ASKS = st.lists(st.integers(0, 3), min_size=4, max_size=4)


@given(PLACES, ASKS)
def test_as_many_asks_are_met_as_can_be(places, counts):
    """Against all ways to deal, tried one by one."""
    made = [place(str(n), sorted(sleepers)) for n, sleepers in enumerate(places)]
    asks = [ask(name, count) for name, count in zip(NAMES, counts, strict=True)]
    got = deal(asks, made)

    def most(at, left):
        if at == len(made):
            return 0
        mine = [most(at + 1, {**left, w: left[w] - 1}) + 1 for w in made[at].sleepers if left[w]]
        return max([most(at + 1, left), *mine])

    assert most(0, {each.workload: each.slices for each in asks}) == len(got)
    assert all(got[each.name] in each.sleepers for each in made if each.name in got)
    assert all(list(got.values()).count(each.workload) <= each.slices for each in asks)
