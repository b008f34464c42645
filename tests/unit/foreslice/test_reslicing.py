"""Time slices of idle nodes ahead of need: said by default, made where that is allowed, nobody moved."""

import pytest

from actuator.guards import Halt
from actuator.slicing.node import CONFIG_LABEL
from foreslice.repartition import LayoutRules
from foreslice.reslicing import Reslicing
from tests.builders.deciding import need, offers, question, workload
from tests.builders.fleet import standing, time_sliced
from tests.fakes.slicing import NAME, SlicingSite

FREE = Halt()


def asked(now, work):
    """A workload that only halves of a card carry, beside an idle node with cards offered so many times."""
    scene = time_sliced(2, now, node=NAME, standings=(standing("a", "0 x 50/100"),))
    return question(scene, [workload("a")], [need("a", work)], {"a": offers({"50/100": 0.45})})


class Service:
    """Plans and turns of the service on one site."""

    def __init__(self, site, **rules):
        self.site = site
        self.reslicing = Reslicing(site, LayoutRules(**rules))

    def round(self, work=0.9, stops=FREE):
        """Plan, turn, and let some time pass; return what is said."""
        now = int(self.site.labels["nvidia.com/gpu.replicas"])
        at_s = self.site.clock.now_s
        self.reslicing.plan(lambda _: asked(now, work), at_s)
        said = self.reslicing.turn(asked(now, work), {}, stops, at_s)
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
