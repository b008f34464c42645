"""What every cluster promises of room that is held: only its owner gets it, and it ends with its hold."""

import pytest

from actuator.kube.holds import DROPPED, NO_RULES
from actuator.mechanisms.dra import Ask, claim_template, request_of
from fleet.boards import H100_80GB
from fleet.errors import ConflictError, RefusedError
from fleet.holds import Hold
from fleet.shape import Configuration
from fleet.workload import WorkloadKey
from tests.contract import test_cluster_contract as contract
from tests.contract.test_cluster_contract import HALF, START_S, WEB, deployment, standing

world = contract.world
cluster = contract.cluster
halves = contract.halves

STRANGER = WorkloadKey("shop", "stranger")
UNTIL_S = START_S + 1800.0


TRIES = 40
"""A real scheduler takes up what waits again within ten seconds, and until then nothing seems to happen."""


def hold(device, owner=WEB):
    return Hold(device, owner, "a replica on 3g.40gb", UNTIL_S)


def stranger():
    """A claim template for a half and a Deployment on it that asks for one."""
    template, body = deployment("stranger", replicas=1)
    spec = claim_template("shop", H100_80GB, HALF, Ask("gpu", request_of(H100_80GB, HALF)))["spec"]
    return {**template, "spec": spec}, body


def free_card(cluster):
    """The devices of the card that nobody uses."""
    fleet = cluster.view([])
    used = {device.gpu for device in fleet.allocated}
    return [device.id for pool in fleet.pools for device in pool.devices if device.gpu not in used]


@pytest.fixture
def device(cluster):
    """A device that nobody uses, on a cluster that lets it be held; nothing is held in the end."""
    found = free_card(cluster)[0]
    try:
        cluster.hold(hold(found))
    except RefusedError as error:
        if str(error) not in {
            NO_RULES,
            *(DROPPED.format(field=field) for field in ("deviceSelector", "taint")),
        }:
            raise
        pytest.skip(str(error))
    release_all(cluster)
    yield found
    release_all(cluster)


def release_all(cluster):
    for held in cluster.view([]).holds:
        cluster.release(held)


@pytest.mark.usefixtures("device")
class TestHolds:
    @pytest.mark.usefixtures("halves")
    def test_room_that_is_held_goes_to_its_owner_and_to_nobody_else(self, world):
        cluster = world.cluster
        for device in free_card(cluster):
            cluster.hold(hold(device))
        world.settle()
        for body in stranger():
            world.owner(body)
        world.settle()
        assert Configuration() == standing(cluster, STRANGER).ready

        cluster.create_variant(WEB, "web-half", HALF)
        cluster.scale(WEB, "web-half", 1, expects=None)
        world.settle()
        assert 1 == standing(cluster).ready.counts[HALF]
        assert Configuration() == standing(cluster, STRANGER).ready

        release_all(cluster)
        world.settle()
        assert () == cluster.view([]).holds
        for _ in range(TRIES):
            if standing(cluster, STRANGER).ready == Configuration():
                world.settle()
        assert Configuration({HALF: 1}) == standing(cluster, STRANGER).ready

    def test_who_runs_on_what_is_held_goes_on(self, world):
        cluster = world.cluster
        [used] = cluster.view([]).allocated
        cluster.hold(hold(used.id, owner=STRANGER))
        world.settle()
        assert 1 == standing(cluster).ready.replicas

    def test_what_was_written_is_seen_with_owner_purpose_and_expiry(self, cluster, device):
        cluster.hold(hold(device))
        assert (hold(device),) == cluster.view([]).holds

    def test_a_device_has_one_owner(self, cluster, device):
        cluster.hold(hold(device))
        with pytest.raises(ConflictError):
            cluster.hold(hold(device, owner=STRANGER))
        [kept] = cluster.view([]).holds
        assert WEB == kept.owner

    def test_a_hold_that_came_after_the_one_that_was_seen_is_not_ended(self, cluster, device):
        cluster.hold(hold(device))
        [seen] = cluster.view([]).holds
        cluster.release(seen)
        cluster.release(seen)
        cluster.hold(hold(device, owner=STRANGER))
        with pytest.raises(ConflictError):
            cluster.release(seen)
        [kept] = cluster.view([]).holds
        assert hold(device, owner=STRANGER) == kept
