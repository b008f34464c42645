"""The contract of clusters, held by the real adapter on a real control plane."""

from functools import partial

import pytest

from actuator.kube.resources import TARGETS
from tests.contract.test_beside_contract import BESIDE, TestBeside, pair  # noqa: F401
from tests.contract.test_cluster_contract import (  # noqa: F401  collected here too, on the fixture below
    TestPlans,
    TestScale,
    TestVariants,
    TestVersion,
    TestView,
    World,
    cluster,
    halves,
)
from tests.contract.test_floor_contract import TestFloor  # noqa: F401
from tests.contract.test_holds_contract import TestHolds, device  # noqa: F401
from tests.contract.test_publish_contract import TestPublish  # noqa: F401
from tests.contract.test_rehearsal_contract import TestRehearsal  # noqa: F401
from tests.contract.test_request_contract import TestRequests  # noqa: F401
from tests.contract.test_switch_contract import TestSwitch  # noqa: F401


@pytest.fixture
def world(shop):
    """A shop with Deployment `web` on whole cards, seen through the real adapter."""
    with shop.open(holds=True) as adapter:
        yield _world(shop, adapter)


@pytest.fixture
def flanked(shop):
    """The same, where settings name a Deployment beside it."""
    with shop.open(beside=BESIDE) as adapter:
        yield _world(shop, adapter)


def _world(shop, adapter):
    settle, targets = partial(shop.settle, adapter), partial(shop.list, TARGETS)
    return World(adapter, partial(shop.create, adapter), settle, targets)
