"""Time slices of idle nodes ahead of need: said by default, made where that is allowed, nobody moved."""

from dataclasses import replace

import pytest

from actuator.guards import Halt
from actuator.slicing.node import CONFIG_LABEL
from foreslice.layout_rules import LayoutRules
from foreslice.reslicing import Reslicing
from simulator.api import NODE
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import standing, time_sliced
from tests.fakes.slicing import SlicingSite
from tests.fakes.turned import NAME, add_twin

FREE, OTHER = Halt(), "gpu-2"


def asked(now, work, nodes=(NAME,)):
    """A workload that only halves of a card carry, beside idle nodes with cards offered so many times."""
    scene, *more = (time_sliced(2, now, node, (standing("a", "0 x 50/100"),)) for node in nodes)
    for other in more:
        scene = replace(scene, gpus=scene.gpus + other.gpus, pools=scene.pools + other.pools)
    return question(scene, [workload("a")], [need("a", work)], {"a": offers({"50/100": 0.45})})


class Service:
    """Plans and turns of the service on one site."""

    def __init__(self, site, **rules):
        self.site = site
        self.reslicing = Reslicing(site, LayoutRules(**rules))

    def round(self, work=0.9, stops=FREE):
        """Plan, turn, and let some time pass; return what is said."""
        bodies = {body["metadata"]["name"]: body for body in self.site.nodes()}
        now = int(next(iter(bodies.values()))["metadata"]["labels"]["nvidia.com/gpu.replicas"])
        at_s = self.site.clock.now_s
        self.reslicing.plan(lambda _: asked(now, work, bodies), at_s)
        said = self.reslicing.turn(asked(now, work, bodies), {}, stops, at_s)
        self.site.clock.run_until(at_s + 10)
        return said


def test_by_default_it_only_says_what_should_be():
    site = SlicingSite("quarters")
    (said,) = Service(site).round()

    assert f"node {NAME} should offer its cards 2 times: serving/a would be short of 0.90" == said
    assert ({"gpu": 8}, 1) == (site.offer, len(site.written))


def test_where_it_may_an_idle_node_offers_what_is_needed_and_then_keeps_it():
    site = SlicingSite("quarters")
    service = Service(site, acting=True)
    for _ in range(60):
        service.round()

    assert ({"gpu": 4}, False) == (site.offer, site.is_held)
    assert () == service.round(), "nothing is short any more"


@pytest.mark.parametrize("rounds", [2, 3, 5])
def test_another_process_goes_on_where_one_ended(rounds):
    """Once the config is written; before that the node is given back, and chosen again."""
    site = SlicingSite("quarters")
    for _ in range(60 // rounds):
        service = Service(site, acting=True)
        for _ in range(rounds):
            service.round()

    assert ({"gpu": 4}, False) == (site.offer, site.is_held)


def test_who_comes_meanwhile_stays_and_the_node_is_given_back():
    site = SlicingSite("quarters")
    service = Service(site, acting=True)
    service.round()
    assert site.is_held
    site.add_pod("early")
    for _ in range(4):
        service.round()

    assert (["early"], {"gpu": 8}, "quarters") == (site.pods, site.offer, site.labels[CONFIG_LABEL])


@pytest.mark.parametrize("stops", [Halt(everything=("paused",)), Halt(moves=("metrics are stale",))])
def test_nothing_is_begun_while_nothing_may_move(stops):
    site = SlicingSite("quarters")
    Service(site, acting=True).round(stops=stops)

    assert not site.is_held


def test_a_node_that_was_changed_lately_keeps_what_it_has():
    site = SlicingSite("quarters")
    service = Service(site, acting=True)
    for _ in range(60):
        service.round()
    service.reslicing.plan(lambda _: asked(4, 0.9), site.clock.now_s)

    assert () == service.reslicing.turn(asked(4, 0.9), {}, FREE, site.clock.now_s)


def test_a_node_that_cannot_be_changed_holds_up_no_other():
    site = SlicingSite("quarters")
    add_twin(site, OTHER)
    body, one_is_unhealthy = site.node(NAME), {"capacity": {"nvidia.com/gpu": "12"}}
    site.store.replace_status({**body, "status": {**body["status"], **one_is_unhealthy}})
    service = Service(site, acting=True)

    assert (f"node {NAME}: refuse: 1 of its devices are unhealthy",) == service.round()
    assert (f"node {OTHER}: hold: no new pod may come while it changes",) == service.round()


def test_a_node_that_is_gone_holds_up_no_other():
    site = SlicingSite("quarters")
    add_twin(site, OTHER)
    service = Service(site, acting=True)
    service.round()
    assert site.is_held
    site.store.delete(NODE, None, NAME)

    assert (f"node {OTHER}: hold: no new pod may come while it changes",) == service.round()


@pytest.mark.parametrize("rounds", [1000, 5])
def test_a_node_that_is_late_holds_up_no_other_and_is_followed_beside(rounds):
    """It may be another process that goes on with it."""
    site = SlicingSite("quarters", spoilt=True)
    add_twin(site, OTHER)
    service, said = Service(site, acting=True), []
    for number in range(40):
        service = service if number % rounds else Service(site, acting=True)
        said = service.round()
        if len(said) > 1:
            break

    late, begun = said
    assert late.startswith(f"node {NAME}: ")
    assert f"node {OTHER}: hold: no new pod may come while it changes" == begun


def test_what_another_process_has_ended_is_not_begun_again():
    site = SlicingSite("quarters")
    assert ["hold", "write"] == [site.turn(2).act for _ in range(2)]
    follower = Service(site, acting=True)
    follower.round(work=0.0, stops=Halt(everything=("another process leads",)))
    site.until_quiet(2)
    site.until_quiet(4)

    assert () == follower.round(work=0.0)
    assert not site.is_held
