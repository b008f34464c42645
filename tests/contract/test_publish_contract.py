"""What every cluster promises of targets that are published for others."""

import pytest

from actuator.ports import Advice
from fleet.errors import RefusedError
from fleet.shape import Configuration
from fleet.workload import WorkloadKey
from tests.contract import test_cluster_contract as contract
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, standing

world = contract.world


def advice(replicas, at_s=START_S):
    return Advice(Configuration({HALF: replicas}), 0.5, 0.75, 0.0, "a peak ahead", at_s)


class TestPublish:
    def test_the_newest_target_is_held_and_the_workload_is_left_as_it_is(self, world):
        before = standing(world.cluster)
        world.cluster.publish(WEB, advice(1))
        world.cluster.publish(WEB, advice(3, START_S + 60))
        status = world.targets()[0]["status"]
        assert (3, [{"board": "h100-80gb", "profile": "3g.40gb", "count": 3}]) == (
            status["replicas"],
            status["target"],
        )
        assert ({"up": "0.50", "keep": "0.75", "short": "0.00"}, "a peak ahead") == (
            status["need"],
            status["reason"],
        )
        assert Configuration({WHOLE: 1}) == before.wanted == standing(world.cluster).wanted

    def test_it_goes_with_the_workload(self, world):
        world.cluster.publish(WEB, advice(1))
        [owner] = world.targets()[0]["metadata"]["ownerReferences"]
        assert ("Deployment", "web") == (owner["kind"], owner["name"])

    def test_of_a_workload_that_is_not_there_nothing_is_said(self, world):
        with pytest.raises(RefusedError, match="shop/nothing does not exist"):
            world.cluster.publish(WorkloadKey("shop", "nothing"), advice(1))
