"""Pods of tenants in the embedded cluster: engines follow their containers, the journal follows both."""

import numpy as np
import pytest

from fleet.boards import H100_80GB
from fleet.shape import Shape
from simulator.agents import start_control_plane, start_nodes
from simulator.api import DEPLOYMENT, POD
from simulator.cluster import EmbeddedCluster
from simulator.containers import EngineContainers
from simulator.delays import Delays
from simulator.engine import Engines
from simulator.journal import Journal
from simulator.manifests import deployment, whole_gpu_template
from simulator.observer import Observer
from tests.builders.engines import MIX, Laws, workload

ONE = workload()
KEY = ONE.key
RATE = 4.0


class Steady:
    """So many requests every second."""

    def seconds(self, from_s, count):
        return np.full((count, 1), RATE)

    def mixes(self, at_s):
        return (MIX,)


class Shop:
    """One workload on two cards, all agents, engines and a journal; a replica takes one card or both."""

    def __init__(self, clock, store, cards=1):
        self.clock, self.store = clock, store
        self.start_s = clock.now_s
        self.engines = Engines([ONE], Steady(), Laws(), int(clock.now_s))
        self.journal = Journal()
        delays = Delays(3)
        self.containers = EngineContainers(store, self.engines, clock, delays, self.journal)
        start_nodes(store, clock, {"n0": [H100_80GB] * 2}, self.containers, delays)
        start_control_plane(store, clock, delays)
        Observer(store, clock, self.journal)
        self.cluster = EmbeddedCluster(store)
        template = whole_gpu_template(KEY.namespace)
        template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"] = cards
        store.create(template)
        store.create(deployment(ONE, 1))

    def wait(self, seconds):
        self.clock.run_until(self.clock.now_s + seconds)
        self.engines.advance(self.clock.now_s)

    def scale(self, name, replicas):
        self.cluster.scale(KEY, name, replicas, expects=None)


@pytest.fixture
def shop(clock, store):
    made = Shop(clock, store)
    made.wait(300)
    return made


def test_the_service_reads_the_tenant_s_own_objects(shop):
    standing = shop.cluster.view([KEY]).standing(KEY)
    assert "1 x whole" == str(standing.ready) == str(standing.wanted)


def test_requests_are_served_from_readiness_on(shop):
    [serving] = shop.journal.servings
    ready_after_s = serving.from_s - shop.start_s
    assert 30 < ready_after_s < 200
    assert pytest.approx(RATE * ready_after_s, abs=RATE) == shop.engines.tally.refused[0]


def test_a_start_is_noted_before_readiness(shop):
    [start], [serving] = shop.journal.starts, shop.journal.servings
    assert (start.pod, start.workload, start.shape) == (serving.pod, KEY, Shape("h100-80gb"))
    assert 20 < serving.from_s - start.at_s < 150


def test_a_holding_says_whose_what_and_how_much(shop):
    [holding] = shop.journal.holdings
    assert (KEY, 1.0, frozenset(range(8))) == (
        holding.workload,
        holding.gpu_share,
        holding.device.memory_slices,
    )
    assert holding.from_s < next(iter(shop.journal.servings)).from_s


def test_each_card_of_a_replica_on_several_is_accounted_for(clock, store):
    shop = Shop(clock, store, cards=2)
    shop.wait(300)
    held = {holding.device.gpu: holding.gpu_share for holding in shop.journal.holdings}
    assert (2, {1.0}) == (len(held), set(held.values()))
    shop.scale("a", 0)
    shop.wait(300)
    assert all(holding.until_s < shop.clock.now_s for holding in shop.journal.holdings)


def test_a_slice_of_a_variant_serves_and_is_accounted_for(shop):
    shape = Shape("h100-80gb", "3g.40gb")
    shop.cluster.create_variant(KEY, "a-3g", shape)
    shop.scale("a-3g", 1)
    shop.wait(300)
    assert [Shape("h100-80gb"), shape] == [serving.shape for serving in shop.journal.servings]
    _, holding = shop.journal.holdings
    assert (60 / 132 < holding.gpu_share < 0.51, 4) == (True, len(holding.device.memory_slices))


def test_a_pod_that_leaves_stops_serving_at_once_and_holds_its_device_until_it_has_drained(shop):
    shop.scale("a", 2)
    shop.wait(300)
    cut_at_s = shop.clock.now_s
    shop.scale("a", 1)
    shop.wait(60)
    over = next(serving for serving in shop.journal.servings if serving.until_s < shop.clock.now_s)
    freed = next(holding for holding in shop.journal.holdings if holding.until_s < shop.clock.now_s)
    assert cut_at_s == over.until_s
    assert over.until_s + 1 < freed.until_s
    assert 0 == shop.engines.tally.cut[0]


def test_a_word_about_a_draining_pod_does_not_bring_its_requests_back(shop):
    [pod] = shop.store.list(POD)
    shop.scale("a", 0)
    shop.wait(0.01)
    leaving = shop.store.get(POD, KEY.namespace, pod["metadata"]["name"])
    labels = {**leaving["metadata"]["labels"], "seen": "yes"}
    shop.store.replace({**leaving, "metadata": {**leaving["metadata"], "labels": labels}})
    shop.wait(0.01)
    assert [True] == [serving.until_s < np.inf for serving in shop.journal.servings]


def test_a_pod_that_is_removed_by_force_serves_no_longer_and_cuts_what_it_served(shop):
    [pod] = shop.store.list(POD)
    resident = shop.engines.in_service()[0]
    shop.store.delete(POD, KEY.namespace, pod["metadata"]["name"], grace_s=0)
    shop.wait(1)
    assert pytest.approx(resident, rel=0.05) == shop.engines.tally.cut[0]
    assert shop.clock.now_s - 1 == next(iter(shop.journal.servings)).until_s


def test_scalings_are_noted_and_creating_an_empty_variant_is_none(shop):
    shop.cluster.create_variant(KEY, "a-3g", Shape("h100-80gb", "3g.40gb"))
    shop.wait(1)
    shop.scale("a-3g", 2)
    shop.wait(1)
    shop.scale("a-3g", 2)
    shop.wait(1)
    shop.scale("a-3g", 0)
    shop.wait(1)
    noted = [(s.workload, s.deployment, s.replicas) for s in shop.journal.scalings]
    assert [(KEY, "a", 1), (KEY, "a-3g", 2), (KEY, "a-3g", 0)] == noted


def test_a_pod_that_leaves_while_it_loads_never_serves(shop):
    shop.scale("a", 2)
    shop.wait(25)
    assert 2 == len(shop.engines.names)
    shop.scale("a", 1)
    shop.wait(300)
    assert 1 == len(shop.engines.names) == len(list(shop.journal.servings))


def test_deleting_the_deployment_ends_its_pods_without_losing_a_request(shop):
    shop.store.delete(DEPLOYMENT, KEY.namespace, "a")
    shop.wait(200)
    assert () == shop.engines.names
    assert 0 == shop.engines.tally.cut[0]
    assert all(holding.until_s < shop.clock.now_s for holding in shop.journal.holdings)
