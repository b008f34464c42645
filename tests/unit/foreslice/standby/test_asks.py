"""What workloads ask of the pool: what they lack now, a little longer what they have, and nothing unknown."""

from dataclasses import replace

import pytest

from fleet.standby import Doing, Hold, PoolSlice
from fleet.workload import Mode, Router
from foreslice.standby.asks import HELD_S, Asks
from tests.builders.deciding import need, offers, workload
from tests.builders.fleet import fleet, key, running, shape, standing
from tests.builders.standby import outlook, terms

KEY = key("chat")
FLEET = running(fleet(8), standing("chat", "1 x whole"))


def asks(*seen, router=Router.LEAST_LOADED, permits=Mode.FULL):
    """Asks of a workload with one whole card of its own; `seen` is (seconds, work)."""
    made = Asks(terms(shape("2g.20gb")), [workload(router=router)])
    stands = replace(FLEET, standings=(replace(FLEET.standings[0], permits=permits),))
    for at_s, work in seen:
        made.note({KEY: need(reactive=work)}, {KEY: outlook(offers(router=router))}, stands, at_s)
    return made


def serving():
    return PoolSlice("serving", "s", "1", Hold(KEY, Doing.SERVING, 0.0))


def count(made, *pools):
    return sum(ask.slices for ask in made.of(pools))


@pytest.mark.parametrize(("expected", "work"), [(0, 0.9), (1, 1.1), (2, 1.4), (4, 9.0)])
def test_slices_are_asked_for_what_is_beyond_ones_own(expected, work):
    assert expected == count(asks((0.0, work)))


def test_behind_a_router_that_spreads_equally_small_slices_are_not_asked_for():
    assert 0 == count(asks((0.0, 1.4), router=Router.EQUAL))


def test_a_slice_that_it_has_is_kept_for_a_minute_and_none_is_woken_for_what_is_over():
    made = asks((0.0, 1.4), (10.0, 0.9))
    assert (0, 1) == (count(made), count(made, serving()))
    later = asks((0.0, 1.4), (10.0, 0.9), (11.0 + HELD_S, 0.9))
    assert 0 == count(later, serving())


def test_unknown_demand_wakes_nobody_and_puts_nobody_to_sleep():
    made = asks((0.0, 1.1), (10.0, None), (200.0, None))
    assert 1 == count(made, serving())
    assert 0 == count(asks((0.0, None)))


def test_a_workload_that_is_paused_keeps_what_it_has_and_is_given_nothing():
    made = asks((0.0, 1.1), permits=Mode.FORECAST_ONLY)
    assert {KEY} == made.resting
    assert (0, 1) == (count(made), count(made, serving()))


def test_who_serves_after_a_restart_keeps_its_slice_until_something_is_heard():
    assert 1 == count(asks(), serving())


def test_what_lasts_is_the_least_of_the_time_and_unknown_before_it_is_over():
    made = asks((0.0, 2.0), (60.0, 1.4), (130.0, 3.0))
    assert [None, 1.4, 3.0] == [made.lasting(KEY, 119.0), made.lasting(KEY, 130.0), made.lasting(KEY, 190.0)]


def test_a_workload_that_is_not_looked_after_any_more_asks_for_nothing():
    held = PoolSlice("serving", "s", "1", Hold(key("gone"), Doing.SERVING, 0.0))
    assert 0 == count(asks(), held)
