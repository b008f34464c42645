"""A device that could not be prepared is given to nobody for an hour."""

from dataclasses import replace

import pytest

from allocator.bans import BANNED_FOR_S, MOST, NOBODY, PREPARED_WITHIN_S, bans
from fleet.boards import H100_80GB
from fleet.workload import Mode
from foreslice.holding import Holding
from simulator.agents import start_control_plane, start_nodes
from simulator.api import POD
from simulator.clock import VirtualClock
from simulator.cluster import EmbeddedCluster
from simulator.store import ObjectStore
from tests.builders.deciding import workload
from tests.builders.delays import Always
from tests.contract.test_cluster_contract import HALF, START_S, WEB, Containers, deployment


class FirstFails(Always):
    """The node's driver never prepares the devices of so many pods, the first that come."""

    def __init__(self, fails):
        super().__init__()
        self.fails = fails

    def prepare_s(self, pod):
        self.fails -= 1
        return 1e6 if self.fails >= 0 else super().prepare_s(pod)


class Town:
    """One card, and `web` with two replicas on a part of it, the first of which never starts."""

    def __init__(self, fails=1):
        self.clock = VirtualClock(START_S)
        self.store = ObjectStore(self.clock)
        delays = FirstFails(fails)
        start_nodes(self.store, self.clock, {"n0": [H100_80GB]}, Containers(), delays)
        start_control_plane(self.store, self.clock, delays)
        self.cluster = EmbeddedCluster(self.store)
        for body in deployment("web", replicas=0):
            self.store.create(body)
        self.cluster.create_variant(WEB, "web-half", HALF)
        self.cluster.scale(WEB, "web-half", 2, expects=None)
        self.wait(60.0)

    def wait(self, seconds):
        self.clock.run_until(self.clock.now_s + seconds)

    def turn(self):
        fleet = self.cluster.view([WEB])
        holding = Holding(self.cluster, [replace(workload(mode=Mode.FULL), key=WEB)], 1800.0)
        said = holding.turn(fleet, [], {}, self.clock.now_s)
        self.wait(1.0)
        return said

    def replicas(self):
        (standing,) = self.cluster.view([WEB]).standings
        return [replica for variant in standing.variants for replica in variant.replicas]

    def banned(self):
        return {hold.device for hold in self.cluster.view([WEB]).holds if hold.owner == NOBODY}


def test_who_comes_after_the_pod_that_failed_gets_another_device():
    town = Town()
    assert () == town.turn()
    town.wait(PREPARED_WITHIN_S)
    (stuck,) = [replica for replica in town.replicas() if not replica.is_ready]
    (said,) = town.turn()

    assert f"device {stuck.device.name} of n0 is given to nobody" in said
    assert stuck.pod in said
    assert {stuck.device.id} == town.banned()
    town.cluster.scale(WEB, "web-half", 3, expects=None)
    town.store.delete(POD, WEB.namespace, stuck.pod, grace_s=0)
    town.wait(60.0)
    assert stuck.device.id not in {r.device.id for r in town.replicas() if r.device is not None}
    town.wait(BANNED_FOR_S)
    town.turn()
    assert set() == town.banned()


@pytest.mark.parametrize("fails", [0, 2], ids=["all-start", "nobody-says"])
def test_nothing_is_banned(fails):
    town = Town(fails)
    town.wait(2 * PREPARED_WITHIN_S)

    assert () == town.turn()
    assert set() == town.banned()


def test_where_many_fail_it_is_not_the_devices():
    town = Town()
    town.wait(PREPARED_WITHIN_S)
    fleet = town.cluster.view([WEB])
    (standing,) = fleet.standings
    (variant,) = [v for v in standing.variants if v.replicas]
    stuck = next(r for r in variant.replicas if not r.is_ready)
    many = tuple(
        replace(stuck, pod=str(n), device=replace(stuck.device, name=f"d{n}")) for n in range(2 * MOST)
    )
    variant = replace(variant, replicas=(*variant.replicas, *many))
    crowded = replace(fleet, standings=(replace(standing, variants=(variant,)),))

    assert MOST == len(bans(crowded, town.clock.now_s))


@pytest.mark.parametrize("state", ["is_ready", "is_leaving"])
def test_who_serves_or_goes_has_nothing_banned(state):
    town = Town()
    town.wait(PREPARED_WITHIN_S)
    fleet = town.cluster.view([WEB])
    (standing,) = fleet.standings
    variants = [
        replace(
            v,
            replicas=tuple(
                r if r.prepared_at_s is not None else replace(r, **{state: True}) for r in v.replicas
            ),
        )
        for v in standing.variants
    ]
    other = replace(fleet, standings=(replace(standing, variants=tuple(variants)),))

    assert 1 == len(bans(fleet, town.clock.now_s))
    assert () == bans(other, town.clock.now_s)
