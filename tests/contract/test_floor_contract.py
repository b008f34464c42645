"""What every cluster promises of workloads that something else scales: it is seen, and its floor moves."""

import pytest

from actuator.ways import with_ways
from fleet.change import ChangeSet, Step, Verb
from fleet.errors import ConflictError, RefusedError
from fleet.shape import Configuration
from fleet.workload import Way
from tests.contract import test_cluster_contract as contract
from tests.contract.test_cluster_contract import HALF, START_S, WEB, WHOLE, standing

world = contract.world


def autoscaler(low=1, high=2, of="web"):
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"namespace": "shop", "name": "by-load"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": of},
            "minReplicas": low,
            "maxReplicas": high,
        },
    }


class TestFloor:
    def test_what_scales_a_workload_is_seen_with_its_bounds(self, world):
        world.owner(autoscaler())
        world.settle()
        [scaler] = standing(world.cluster).scalers
        assert ("HorizontalPodAutoscaler", "by-load", 1, 2) == (
            scaler.kind,
            scaler.name,
            scaler.floor,
            scaler.most,
        )

    def test_what_scales_another_is_not_taken_for_it(self, world):
        world.owner(autoscaler(of="chat"))
        assert () == standing(world.cluster).scalers
        with pytest.raises(RefusedError, match="nothing scales Deployment shop/web"):
            world.cluster.set_floor(WEB, 2, expects=None)

    def test_replicas_follow_a_floor_that_is_raised_and_nobody_is_fought(self, world):
        world.owner(autoscaler())
        cluster = with_ways(world.cluster, {WEB: Way.FLOOR})
        cluster.scale(WEB, "web", 2, expects=standing(cluster).own.version)
        world.settle()
        seen = standing(cluster)
        assert (2, 2, "") == (seen.own.wanted, seen.own.told, seen.forbidden)
        assert Configuration({WHOLE: 2}) == seen.ready

    def test_on_an_older_version_no_floor_is_written(self, world):
        world.owner(autoscaler())
        seen = standing(world.cluster).scalers[0].version
        world.cluster.set_floor(WEB, 2, expects=seen)
        with pytest.raises(ConflictError):
            world.cluster.set_floor(WEB, 1, expects=seen)
        assert 2 == standing(world.cluster).scalers[0].floor

    def test_of_a_switch_replicas_that_are_anothers_are_shown_as_they_stand(self, world):
        world.owner(autoscaler())
        step = Step(Verb.SWITCH, "web", HALF, 2, None, "a quiet night", "web-gpu")
        change = ChangeSet(WEB, Configuration({WHOLE: 1}), Configuration({HALF: 2}), (step,), START_S)
        acting = with_ways(world.cluster, {WEB: Way.FLOOR}, switching=[WEB])
        if reason := acting.view([]).barred.get(HALF):
            pytest.skip(reason)
        web = acting.rehearse(change, [step])[-1]
        assert (1, 1, "") == (web.before["spec"]["replicas"], web.after["spec"]["replicas"], web.objection)
        assert web.before["spec"]["template"] != web.after["spec"]["template"]
