"""Which node under way the service goes on with; who changed it meanwhile is not there to say so."""

import pytest

from actuator.guards import Halt
from foreslice.layout_rules import LayoutRules
from foreslice.repartition import Repartition
from simulator.api import NODE
from tests.builders.deciding import question
from tests.builders.fleet import fleet
from tests.fakes.layouts import NIGHT, Site, wish
from tests.fakes.turned import NAME, add_twin

OTHER = "gpu-2"
NOBODY = question(fleet(), [], [])
ELSEWHERE = Halt(everything=("another process leads",))


@pytest.fixture
def site():
    """A node that somebody has begun with: it is held, and the manager's file has its layout."""
    made = Site()
    assert ["hold", "write"] == [made.turn().act for _ in range(2)]
    return made


def turned(service, site, stops=ELSEWHERE):
    """Plan and turn; return what is said."""
    service.plan(lambda _: None, site.clock.now_s)
    return service.turn(NOBODY, {}, stops, site.clock.now_s)


def test_what_another_process_has_ended_is_not_begun_again(site):
    follower = Repartition(site, LayoutRules(acting=True))
    turned(follower, site)
    site.until_quiet()
    site.until_quiet(wish(NIGHT))

    assert () == turned(follower, site, Halt())
    assert not site.is_held


def test_a_node_that_is_gone_holds_up_no_other(site):
    service = Repartition(site, LayoutRules(acting=True))
    turned(service, site)
    add_twin(site, OTHER)
    site.store.delete(NODE, None, NAME)

    (said,) = turned(service, site, Halt())

    assert said.startswith(f"node {OTHER}: label")
