"""Clocks that jump and nodes that are lost, under the service's own loop on a simulated fleet."""

import pytest

from actuator.outcome import Outcome
from fleet.change import Verb
from fleet.workload import Mode
from simulator.api import NODE, POD, SLICE
from tests.builders.turning import Turning

HOUR_S = 3600


WRONG = range(410, 500)
"""Ticks in which the clock is wrong."""


def removals(turning, ticks):
    return [
        result
        for tick in turning.ticks[ticks.start : ticks.stop]
        for result in tick.results
        if result.step.verb is Verb.SCALE_DOWN and result.outcome is Outcome.DONE
    ]


def test_while_our_clock_is_right_something_is_removed():
    assert removals(Turning().run(85), WRONG)


@pytest.mark.parametrize("jump_s", [2 * HOUR_S, -2 * HOUR_S], ids=["ahead", "back"])
def test_while_our_clock_is_wrong_nothing_is_removed_and_once_it_is_right_the_loop_goes_on(jump_s):
    turning = Turning()

    def wrong(turning, number):
        turning.ahead_s = jump_s if number in WRONG else 0

    turning.run(85, before_tick=wrong)

    assert [] == removals(turning, WRONG)
    assert () == turning.ticks[-1].conditions
    assert 0 == turning.summary().requests_cut


def lose(turning, node):
    """A node is gone with its cards, and whoever notices has deleted its pods."""
    store = turning.world.store
    for body in store.list(POD):
        if body["spec"].get("nodeName") == node:
            store.delete(POD, body["metadata"]["namespace"], body["metadata"]["name"], grace_s=0)
    for body in store.list(SLICE):
        if body["spec"].get("nodeName") == node:
            store.delete(SLICE, None, body["metadata"]["name"])
    store.delete(NODE, None, node)


def test_what_a_lost_node_carried_in_the_middle_of_a_change_is_carried_by_another_one():
    turning = Turning(Mode.FULL, tenants=2, nodes=2)
    lost = []

    def strike(turning, tick):
        added = [r for r in tick.results if r.is_write and r.step.verb is Verb.SCALE_UP]
        if added and not lost:
            held = [
                r.device.node
                for s in tick.fleet.standings
                for v in s.variants
                for r in v.replicas
                if r.device
            ]
            lost.append(held[0])
            lose(turning, held[0])

    turning.run(60, after_tick=strike)

    assert lost
    last = turning.ticks[-1]
    assert lost[0] not in {gpu.node for gpu in last.fleet.gpus}
    for workload in turning.workloads:
        ready = last.fleet.standing(workload.key).ready
        assert last.needs[workload.key].reactive <= last.outlooks[workload.key].offers.carried(ready)
    assert () == last.conditions
