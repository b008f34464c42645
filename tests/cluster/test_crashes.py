"""A sample of tests/property/test_crash_points.py on a real API server, down at its requests.

Processes die at their writes, in turn before one is sent and after it was answered, and the next goes on from
the cluster alone. What a change of replicas writes is in test_kube_execution.py.
"""

import time
from collections import Counter
from contextlib import ExitStack, closing
from functools import partial
from itertools import count

import pytest

from actuator.holding import hold_rooms
from actuator.kube.cluster import KubeCluster
from actuator.kube.resources import PLANS, TAINT_RULES
from actuator.mechanisms.device_plugin import PRODUCT_LABEL
from actuator.objects.beside import ALONE, Beside
from actuator.objects.nodes import REPLICAS_LABEL
from actuator.objects.plans import is_open
from capacity.routing import carried
from fleet.boards import H100_80GB
from fleet.holds import Hold
from fleet.workload import Router, WorkloadKey
from foreslice.clock import WallClock
from simulator.api import CLAIM, CLAIM_TEMPLATE, DEPLOYMENT, NODE, POD
from simulator.manifests import plugged_deployment
from simulator.pods import claim_names
from tests.builders.engines import workload
from tests.cluster import test_layouts, test_standby
from tests.cluster.conftest import NEWEST
from tests.cluster.lab import LABEL, until
from tests.cluster.shop import always, install_plans
from tests.cluster.test_time_slices import engine
from tests.contract.test_cluster_contract import HALF, WEB, WHOLE, standing
from tests.contract.test_holds_contract import free_card
from tests.fakes.cluster import Killed
from tests.fakes.manifests import request
from tests.property.test_crash_points import CAPACITIES, PART, Acting, Trying

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


class TwiceMortal:
    """A connection over which each write is the last of two processes: before it is sent, and after it.

    What is written again is another write only if it says something else; when it is said does not count.
    """

    def __init__(self, server):
        self._server = server
        self.died_at = Counter()

    def __getattr__(self, name):
        return getattr(self._server, name)

    def request(self, method, path, body=None, *more, **options):
        if method == "GET":
            return self._server.request(method, path, body, *more, **options)
        return self._once(path, body, partial(self._server.request, method), *more, **options)

    def create(self, path, body, **options):
        return self._once(path, body, self._server.create, **options)

    def apply(self, path, body, **options):
        return self._once(path, body, self._server.apply, **options)

    def _once(self, path, body, write, *more, **options):
        if options.get("is_dry"):
            return write(path, body, *more, **options)
        steps = [step["state"] for step in body["status"]["steps"]] if "status" in body else []
        said = (path, body["metadata"].get("name"), body.get("spec", {}).get("replicas"), *steps)
        if self.died_at[said] == 2:
            return write(path, body, *more, **options)
        self.died_at[said] += 1
        if self.died_at[said] == 2:
            write(path, body, *more, **options)
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


PRODUCT = H100_80GB.product_names[0].replace(" ", "-")


def offering(lab, resources, product=PRODUCT, **labels):
    """Add a node whose device plugin offers this."""
    node = lab.node(slices=lambda _: [])
    lab.patch(NODE, node, {"metadata": {"labels": {PRODUCT_LABEL: product, **labels}}})
    lab.patch(NODE, node, {"status": {"capacity": resources, "allocatable": resources}}, "/status")


def by_plugin(lab):
    """A whole card of one that is not cut, beside one that is."""
    offering(lab, {"nvidia.com/gpu": "1", "nvidia.com/mig-3g.40gb": "2"})
    spec = plugged_deployment(workload("web", namespace=lab.name), WHOLE, 1)["spec"]
    spec["template"]["spec"]["nodeSelector"] = {LABEL: lab.name}
    lab.create(DEPLOYMENT, "web", spec=spec)
    return ALONE


def by_time_slices(lab):
    """A whole card, beside a node that offers its card twice."""
    offering(lab, {"nvidia.com/gpu": "1"})
    offering(lab, {"nvidia.com/gpu": "2"}, f"{PRODUCT}-SHARED", **{REPLICAS_LABEL: "2"})
    engine(lab, "web", "0.9", PRODUCT)
    return ALONE


def by_its_owner(lab):
    """A whole card of two, and a Deployment of the same owner on halves."""
    lab.node(H100_80GB, H100_80GB)
    lab.template("whole", request("gpu.nvidia.com", None))
    lab.template("half", request("mig.nvidia.com", "3g.40gb"))
    for name, shape, replicas in (("web", "whole", 1), ("by-owner", "half", 0)):
        lab.deployment(name, shape, replicas, labels={"app": "web", "shape": shape})
    return Beside({WorkloadKey(lab.name, "web"): ("by-owner",)})


MECHANISMS = {
    "device-plugin": (by_plugin, HALF, 3, {"web", "web-3g-40gb"}, set()),
    "time-slices": (by_time_slices, PART, 3, {"web", "web-50-100"}, set()),
    "own-variant": (by_its_owner, HALF, 2, {"web", "by-owner"}, {"whole", "half"}),
}
"""What the owner made, where his workload goes from a whole card, how many steps that
takes, and which Deployments and templates there are in the end."""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_workload_comes_to_another_shape_though_a_process_dies_before_and_after_each_write(
    lab, server, mechanism
):
    make, shape, steps, deployments, templates = MECHANISMS[mechanism]
    install_plans(server)
    beside, key, goal = make(lab), WorkloadKey(lab.name, "web"), {shape: 2}
    mortal, began_s, ticks, least = TwiceMortal(server), WallClock().now_s(), count(), [1.0]
    with closing(KubeCluster(server, [lab.name], always, beside=beside)) as cluster:

        def ready():
            seen = cluster.view([key]).standing(key)
            return seen.ready if seen is not None else {}

        def act():
            with closing(KubeCluster(mortal, [lab.name], always, beside=beside)) as mine:
                process = Acting(mine, goal, key=key)
                while dict(ready().counts) != goal:
                    process.tick(began_s + 10.0 * next(ticks))
                    least.append(carried(ready(), CAPACITIES, Router.LEAST_LOADED))
                    time.sleep(0.1)
                process.tick(began_s + 10.0 * next(ticks))

        until(lambda: ready() and dict(ready().counts) == {WHOLE: 1})
        until(lambda: lived(act), within_s=400)
        assert [False] == [is_open(plan) for plan in cluster.plans(key)]
    assert 1.0 == min(least)
    written = {said: times for said, times in mortal.died_at.items() if PLANS.plural not in said[0]}
    assert [2] * steps == list(written.values())
    assert 2 in {times for said, times in mortal.died_at.items() if said not in written}
    assert deployments == {body["metadata"]["name"] for body in lab.list(DEPLOYMENT)}
    assert templates == {body["metadata"]["name"] for body in lab.list(CLAIM_TEMPLATE)}
    until(lambda: len(lab.list(POD)) == sum(goal.values()))
    held = {name for pod in lab.list(POD) for name in claim_names(pod).values()}
    until(lambda: held == {body["metadata"]["name"] for body in lab.list(CLAIM)})


def lived(act):
    """Let a process act, and return whether it lived to the end."""
    try:
        act()
    except Killed:
        return False
    return True
