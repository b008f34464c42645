"""What every cluster promises of a Deployment that is pointed from one claim template to another."""

import pytest

from fleet.errors import ConflictError, RefusedError
from fleet.shape import Configuration, Shape
from fleet.workload import WorkloadKey
from tests.contract import test_cluster_contract as contract
from tests.contract.test_cluster_contract import HALF, WEB, WHOLE, standing

world, cluster, halves = contract.world, contract.cluster, contract.halves

QUARTER = Shape("h100-80gb", "2g.20gb")


def switched(world, shape=HALF):
    """Return how the workload stands once its pods have followed."""
    world.cluster.switch(WEB, shape, expects=standing(world.cluster).own.rollout.version)
    world.settle()
    return standing(world.cluster)


class TestSwitch:
    def test_all_replicas_come_to_serve_on_the_new_shape(self, world, halves):
        switched(world)
        world.cluster.scale(WEB, "web", 2, expects=None)
        world.settle()
        seen = switched(world, QUARTER)
        assert Configuration({QUARTER: 2}) == seen.wanted == seen.ready
        assert (False, "", False) == (
            seen.own.rollout.is_running,
            seen.own.rollout.stuck,
            any(replica.is_old for replica in seen.own.replicas),
        )

    def test_until_then_each_replica_counts_as_what_its_own_claim_was_given(self, cluster, halves):
        cluster.switch(WEB, HALF, expects=None)
        seen = standing(cluster)
        assert (Configuration({HALF: 1}), Configuration({WHOLE: 1})) == (seen.wanted, seen.ready)
        assert (True, [True]) == (
            seen.own.rollout.is_running,
            [r.is_old for r in seen.own.replicas if r.serves],
        )

    def test_it_says_in_whose_place_its_template_stands(self, world, halves):
        assert ("web-gpu", False) == (
            standing(world.cluster).own.rollout.owners,
            standing(world.cluster).own.rollout.is_switched,
        )
        seen = switched(world)
        assert ("web-gpu", True) == (seen.own.rollout.owners, seen.own.rollout.is_switched)

    def test_from_one_of_ours_to_another_it_still_says_so(self, world, halves):
        switched(world)
        seen = switched(world, QUARTER)
        assert ("web-gpu", Configuration({QUARTER: 1})) == (seen.own.rollout.owners, seen.ready)

    def test_to_the_shape_that_its_owner_asked_for_it_goes_by_its_owners_template(self, world, halves):
        switched(world)
        seen = switched(world, WHOLE)
        assert ("web-gpu", False) == (seen.own.rollout.template, seen.own.rollout.is_switched)
        assert Configuration({WHOLE: 1}) == seen.ready

    def test_it_goes_back_to_a_template_that_is_there(self, world, halves):
        switched(world)
        world.cluster.switch_back(WEB, "web-gpu", expects=standing(world.cluster).own.rollout.version)
        world.settle()
        seen = standing(world.cluster)
        assert ("web-gpu", Configuration({WHOLE: 1})) == (seen.own.rollout.template, seen.ready)

    def test_to_one_that_is_gone_it_does_not_go_back(self, cluster):
        before = cluster.version()
        with pytest.raises(
            RefusedError, match="ResourceClaimTemplate web-old, which is gone: create it anew"
        ):
            cluster.switch_back(WEB, "web-old", expects=None)
        assert before == cluster.version()

    def test_the_same_again_changes_nothing(self, world, halves):
        switched(world)
        before = world.cluster.version()
        world.cluster.switch(WEB, HALF, expects=None)
        assert before == world.cluster.version()

    def test_on_an_older_version_it_stays_where_it_is(self, world, halves):
        older = standing(world.cluster).own.rollout.version
        world.cluster.scale(WEB, "web", 2, expects=None)
        world.settle()
        for point in (
            lambda: world.cluster.switch(WEB, HALF, expects=older),
            lambda: world.cluster.switch_back(WEB, "web-gpu", expects=older),
        ):
            with pytest.raises(ConflictError):
                point()
        assert "web-gpu" == standing(world.cluster).own.rollout.template

    def test_what_cannot_be_done_is_refused_and_leaves_nothing(self, world):
        before = world.cluster.version()
        refused = {
            Shape("a100-80gb", "3g.40gb"): "no card of the fleet is a a100-80gb",
            Shape("h100-80gb", cards=2): "spread it over 1 cards, not over 2",
            Shape("h100-80gb", "50/100"): "only whole cards and instances are switched to",
        }
        for shape, why in refused.items():
            with pytest.raises(RefusedError, match=why):
                world.cluster.switch(WEB, shape, expects=None)
        with pytest.raises(RefusedError, match="shop/nothing does not exist"):
            world.cluster.switch(WorkloadKey("shop", "nothing"), HALF, expects=None)
        assert before == world.cluster.version()
