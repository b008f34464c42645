"""Shares of cards by consumable capacity: the contract on real schedulers, and servers that have it not."""

from contextlib import suppress
from functools import partial

import pytest

from actuator.kube.resources import CLAIM_TEMPLATES, TARGETS
from fleet.errors import RefusedError
from simulator.static_driver import BY_MEMORY, static_slices
from tests.cluster.conftest import MINORS
from tests.cluster.lab import until
from tests.cluster.shop import shop_of
from tests.cluster.test_crashes import Mortal
from tests.contract.test_cluster_contract import World, standing
from tests.contract.test_shares_contract import (  # noqa: F401  collected here too, on the fixture below
    CHAT,
    HALF,
    HALF_MIB,
    QUARTER,
    QUARTER_MIB,
    SHARED_CARDS,
    TOLD,
    WEB,
    TestShares,
    chat,
    sharing,
)
from tests.fakes.cluster import Killed

WITH = [minor for minor in MINORS if minor not in {"1.34", "1.35"}]
"""Minors in which DRAConsumableCapacity is on by default."""


@pytest.fixture(scope="module")
def mall(plane):
    """Namespace `shop` with a node of two H100 that claims may share."""
    with shop_of(plane, lambda node: static_slices(node, SHARED_CARDS, BY_MEMORY)) as made:
        yield made


@pytest.fixture
def shared(mall, plane, request):
    """A shop with Deployment `web` on a whole card, seen through the real adapter."""
    if plane.minor not in WITH and request.cls is TestShares:
        pytest.skip("DRAConsumableCapacity is off")
    with mall.open() as adapter:
        settle, targets = partial(mall.settle, adapter), partial(mall.list, TARGETS)
        yield World(adapter, partial(mall.create, adapter), settle, targets)


def test_processes_that_die_at_every_write_make_one_copy_on_shares(shared, mall, plane):
    """A sample of tests/property/test_crash_points.py, on a connection that ends a process at each write."""
    if plane.minor not in WITH:
        pytest.skip("DRAConsumableCapacity is off")
    for body in sharing("chat", HALF_MIB, TOLD):
        shared.owner(body)
    shared.settle()
    mortal = Mortal(mall.server)

    def made():
        with mall.cluster(server=mortal) as cluster, suppress(Killed):
            cluster.view([CHAT])
            cluster.create_variant(CHAT, "chat-quarter", QUARTER)
            return True
        return False

    until(made)
    until(lambda: standing(shared.cluster, CHAT).named("chat-quarter"))
    shared.cluster.scale(CHAT, "chat-quarter", 1, expects=None)
    shared.settle()
    assert {HALF: 1, QUARTER: 1} == standing(shared.cluster, CHAT).ready.counts
    assert (4, 3) == (mortal.deaths, len(mall.list(CLAIM_TEMPLATES)))


def test_a_server_without_the_feature_gives_whole_cards_and_ours_are_refused(shared, mall, plane):
    """It drops what it does not know: cards take one claim, and who asks for a part has all of one."""
    if plane.minor in WITH:
        pytest.skip("DRAConsumableCapacity is on")
    for body in sharing("chat", QUARTER_MIB, TOLD, clause=""):
        shared.owner(body)
    shared.settle()
    fleet = shared.cluster.view([CHAT, WEB])
    assert {"whole"} == {replica.shape.profile for _, _, replica, _ in fleet.placed()}
    with pytest.raises(RefusedError, match="no card of the fleet takes several claims"):
        shared.cluster.create_variant(CHAT, "chat-quarter", QUARTER)
    assert 2 == len(mall.list(CLAIM_TEMPLATES))
