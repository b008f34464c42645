"""Level-triggered: whatever the process forgets, and whenever, it ends where it would have ended."""

from functools import cache

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from actuator.outcome import Outcome
from fleet.change import Verb
from tests.builders.turning import Turning

MINUTES = 60
TICKS = MINUTES * 6

ticks = st.integers(0, TICKS - 60)


@cache
def undisturbed():
    return Turning().run(MINUTES)


@cache
def settled():
    return in_use(Turning().run(SETTLED))


def in_use(turning):
    """Return replicas asked for by variant; copies that were tried and left stay, without replicas."""
    return {variant: replicas for variant, replicas in turning.wanted().items() if replicas}


SETTLED = 150
"""Minutes after which what a restart held up by a minute or two has long been done."""


@given(st.sets(ticks, min_size=1, max_size=2))
@example({35})  # another shape is asked for on the way, and left again
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow])
def test_a_process_that_is_killed_at_any_tick_and_started_anew_ends_where_it_would_have_ended(kills):
    turning = Turning().run(
        SETTLED, before_tick=lambda turning, number: turning.restart() if number in kills else None
    )

    assert settled() == in_use(turning)
    assert 0 == turning.summary().requests_cut


@given(ticks, st.integers(1, 200), st.booleans())
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
def test_an_outage_at_any_tick_removes_nothing_while_it_lasts_and_cuts_nothing_off(start, length, is_cluster):
    removed = []

    def outage(turning, number):
        port = turning.cluster if is_cluster else turning.metrics
        port.is_down = start <= number < start + length

    def look(turning, tick):
        removed.extend(
            result
            for result in tick.results
            if result.step.verb is Verb.SCALE_DOWN
            and result.outcome is Outcome.DONE
            and (turning.cluster.is_down or turning.metrics.is_down)
        )

    turning = Turning(tenants=1).run(MINUTES, before_tick=outage, after_tick=look)

    assert [] == removed
    assert 0 == turning.summary().requests_cut


def test_the_same_seed_gives_the_same_ticks():
    again = Turning().run(10)

    assert [tick.decisions for tick in undisturbed().ticks[: len(again.ticks)]] == [
        tick.decisions for tick in again.ticks
    ]
    assert [tick.results for tick in undisturbed().ticks[: len(again.ticks)]] == [
        tick.results for tick in again.ticks
    ]
