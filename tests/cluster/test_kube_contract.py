"""The contract of clusters, held by the real adapter on a real control plane."""

from functools import partial

import pytest

from tests.cluster.shop import shop_of
from tests.contract.test_cluster_contract import (  # noqa: F401  collected here too, on the fixture below
    TestPlans,
    TestScale,
    TestVariants,
    TestVersion,
    TestView,
    World,
    cluster,
    deployment,
)


@pytest.fixture(scope="module")
def shop(plane):
    """The shop, on minors that keep the counters of which dynamic MIG is made."""
    if plane.minor in {"1.34", "1.35"}:
        pytest.skip("the API server drops counters, so there is no dynamic MIG")
    with shop_of(plane) as made:
        yield made


@pytest.fixture
def world(shop):
    """A shop with Deployment `web` on whole cards, seen through the real adapter."""
    with shop.cluster() as adapter:
        built = World(adapter, partial(shop.create, adapter), partial(shop.settle, adapter))
        for body in deployment("web", replicas=1):
            built.owner(body)
        built.settle()
        yield built
    shop.clear()
