"""A sample of tests/property/test_crash_points.py on a real API server, down at its requests.

Processes die at their writes, in turn before one is sent and after it was answered, and the next goes on from
the cluster alone. What a change of replicas writes is in test_kube_execution.py.
"""

from contextlib import ExitStack
from itertools import count

import pytest

from actuator.holding import hold_rooms
from actuator.kube.resources import PLANS, TAINT_RULES
from actuator.objects.plans import is_open
from fleet.holds import Hold
from foreslice.clock import WallClock
from tests.cluster import test_layouts, test_standby
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import until
from tests.contract.test_cluster_contract import HALF, WEB, WHOLE, standing
from tests.contract.test_holds_contract import free_card
from tests.fakes.cluster import Killed
from tests.property.test_crash_points import Acting, Trying

pytestmark = pytest.mark.parametrize("plane", [NEWEST], indirect=True)
place = test_standby.place
site = test_layouts.site


class Mortal:
    """A connection over which every so many writes one is the last of its process."""

    def __init__(self, server, every=1):
        self.deaths = 0
        self._server, self._every, self._writes = server, every, 0

    def __getattr__(self, name):
        return getattr(self._server, name)

    def request(self, method, *arguments, **more):
        if method == "GET":
            return self._server.request(method, *arguments, **more)
        return self._written(self._server.request, method, *arguments, **more)

    def create(self, *arguments, **more):
        return self._written(self._server.create, *arguments, **more)

    def apply(self, *arguments, **more):
        return self._written(self._server.apply, *arguments, **more)

    def _written(self, write, *arguments, **more):
        if more.get("is_dry"):
            return write(*arguments, **more)
        self._writes += 1
        if self._writes % self._every:
            return write(*arguments, **more)
        self.deaths += 1
        if self.deaths % 2 == 0:
            write(*arguments, **more)
        raise Killed


def test_room_is_held_and_released(shop):
    mortal = Mortal(shop.server)

    def brought_to(wanted):
        with shop.cluster(server=mortal, holds=True) as cluster:
            try:
                said = hold_rooms(cluster, cluster.view([]).holds, wanted)
            except Killed:
                return False
        return said == ()

    with shop.open(holds=True) as cluster:
        wanted = [Hold(device, WEB, "a replica on 3g.40gb", 2e9) for device in free_card(cluster)[:2]]
    for holds in (wanted, []):
        until(lambda holds=holds: brought_to(holds))
        rules = shop.server.request("GET", TAINT_RULES.path())["items"]
        assert {hold.device[1] for hold in holds} == {
            rule["spec"]["deviceSelector"]["device"] for rule in rules
        }
    assert 8 == mortal.deaths


def test_a_shape_is_added_and_its_trial_is_noted(shop):
    mortal, began_s = Mortal(shop.server, every=3), WallClock().now_s()
    with shop.open() as cluster, ExitStack() as opened:
        process = []

        def tick(at_s):
            try:
                if not process:
                    mine = opened.enter_context(shop.cluster(server=mortal))
                    mine.view([WEB])
                    process[:] = Acting(mine, {WHOLE: 1, HALF: 1}), Trying(mine)
                for part in process:
                    part.tick(at_s)
            except Killed:
                process.clear()
            return standing(cluster).is_proven(HALF)

        ticks = count()
        until(lambda: tick(began_s + 10.0 * next(ticks)), every_s=0.1)
        until(lambda: not [plan for plan in cluster.plans(WEB) if is_open(plan)])
        assert {WHOLE: 1, HALF: 1} == standing(cluster).ready.counts
        assert 1 == len(shop.list(PLANS))
    assert mortal.deaths >= 2


def test_a_node_gets_another_layout(site):
    mortal = Mortal(site.lab.server)
    site.run("small")
    site.door = site.door_of(mortal)
    until(lambda: lived(lambda: site.until("nothing")))
    assert test_layouts.DAY == site.offer
    assert not site.is_held
    assert "foreslice.dev/layout" not in site.body["metadata"]["annotations"]
    assert mortal.deaths >= 8  # held, written, evicted, labelled and let go


def test_an_engine_of_the_pool_is_woken_and_put_to_sleep(place, lab):
    place.server = Mortal(place.server)
    turn = place.turn_until
    until(lambda: lived(lambda: turn(test_standby.is_full)))
    until(lambda: lived(lambda: turn(lambda _: lab.is_ready("ant-s"), wish="ant")))
    until(lambda: lived(lambda: turn(lambda pool: pool.hold is None)))
    assert not lab.is_ready("ant-s")
    assert ([], 1) == (place.mode.collisions, max(place.awake))


def lived(act):
    """Let a process act, and return whether it lived to the end."""
    try:
        act()
    except Killed:
        return False
    return True
