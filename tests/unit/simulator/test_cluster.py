"""What only the embedded adapter does; what it shares with others is in tests/contract."""

import pytest

from fleet.boards import A100_80GB, H100_80GB
from fleet.errors import ConflictError
from fleet.shape import Shape
from fleet.workload import WorkloadKey
from simulator.api import CLAIM_TEMPLATE, DEPLOYMENT
from simulator.cluster import EmbeddedCluster

WEB = WorkloadKey("shop", "web")
HALF = Shape("h100-80gb", "3g.40gb")
SMALL = Shape("h100-80gb", "1g.10gb")


@pytest.fixture
def served(town):
    town = town()
    town.serve("web", 1, HALF)
    town.wait(600)
    return town


@pytest.fixture
def cluster(served):
    return EmbeddedCluster(served.store)


def test_a_view_is_made_once_for_each_version_of_the_store(served, cluster):
    seen = cluster.view([WEB])
    served.wait(3600)
    assert seen is cluster.view([WEB])
    served.scale("web", 2)
    assert seen is not cluster.view([WEB])


def test_an_unchanged_card_is_not_parsed_again(served, cluster):
    before = cluster.view([WEB])
    served.scale("web", 2)
    after = cluster.view([WEB])
    assert [True] == [old is new for old, new in zip(before.pools, after.pools, strict=True)]


def test_a_claim_template_of_a_variant_goes_with_its_workload_and_serves_no_other(served, cluster):
    served.serve("chat", 1, HALF)
    for name in ("web", "chat"):
        cluster.create_variant(WorkloadKey("shop", name), f"{name}-small", SMALL)
    assert 4 == len(served.store.list(CLAIM_TEMPLATE))
    served.store.delete(DEPLOYMENT, "shop", "web")
    served.wait(600)
    assert 3 == len(served.store.list(CLAIM_TEMPLATE))


def test_a_variant_lives_as_long_as_its_base(served, cluster):
    cluster.create_variant(WEB, "web-small", SMALL)
    cluster.scale(WEB, "web-small", 1, expects=None)
    served.wait(600)
    served.store.delete(DEPLOYMENT, "shop", "web")
    served.wait(600)
    assert ([], []) == (list(served.store.list(DEPLOYMENT)), list(served.pods()))


def test_a_version_grows_stale_with_the_status_too(served, cluster):
    seen = cluster.view([WEB]).standing(WEB).variants[0].version
    cluster.scale(WEB, "web", 2, expects=seen)
    served.wait(600)
    with pytest.raises(ConflictError, match="is at version"):
        cluster.scale(WEB, "web", 1, expects=seen)


def test_boards_of_every_node_are_seen(town):
    town = town({"n0": [H100_80GB], "n1": [A100_80GB]})
    assert (A100_80GB, H100_80GB) == EmbeddedCluster(town.store).view([]).boards()
